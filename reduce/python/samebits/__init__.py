"""The sum, minimum, maximum and norms of an array, with the same bits on every GPU, in every batch and on the host.

>>> import numpy, samebits
>>> samebits.sum(numpy.ones(1 << 20, numpy.float32))
np.float32(1048576.0)

GPU arrays are reduced on their device. torch tensors and CuPy arrays are reduced on the framework's current stream.
Other arrays that have ``__dlpack__`` or ``__cuda_array_interface__``, such as JAX's, are reduced on the stream that
you pass. The result is an array of the same framework, or a ``samebits.Array`` if the framework is not known.
"""

import sys

from . import _arrays, _checks, _exact, _forms, _numpy
from ._exact import ExactAccumulator
from ._samebits import ORDER, Array, CudaError, __version__, close, is_available

__all__ = [
    "ORDER",
    "Array",
    "CudaError",
    "ExactAccumulator",
    "__version__",
    "all",
    "any",
    "argmax",
    "argmin",
    "close",
    "count_nonzero",
    "dot",
    "exact_dot",
    "exact_norm",
    "exact_sum",
    "foreach",
    "is_available",
    "largest_magnitude",
    "log_sum_exp",
    "max",
    "mean",
    "min",
    "min_max",
    "moments",
    "norm",
    "ragged",
    "sum",
    "sum_of_magnitudes",
    "sum_of_squares",
]

# The functions that reduce each type of array.
_reducers = {}


_WIDE, _TRUTH = _checks.WIDE, _checks.TRUTH


def sum(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the sum of all elements, or the sums along an axis.

    The sum of a row has the same bits alone and in any batch. Sums of 16-bit floats are float32. Sums of integers of
    32 and 64 bits keep their type and wrap; those of smaller integers and of bool are int64.

    Parameters
    ----------
    x : array
        An array of float16, bfloat16, float32, float64, bool, or integers of 8 to 64 bits. It must be
        contiguous, but with ``axis=-1`` its rows may have a pitch, as in ``x[:, :100]``.
    axis : None or int
        None for all elements, or one axis. The result along an axis has the bits of a contiguous array with the same
        elements. Along an axis other than the last, ``x`` is a NumPy array, a torch tensor or a CuPy array.
    wide : bool
        Whether to combine float32 as float64, and int32 and uint32 as 64-bit integers. The result has that type.
    out : array, optional
        The array for the result. It must belong to the same framework and be on the same device as ``x``, and must
        have the shape and type of the result.
    stream : int, optional
        The address of a CUDA stream. It is required for GPU arrays from frameworks other than torch and CuPy,
        for which the framework's current stream is used.

    Returns
    -------
    array
        For a GPU array, an array on its device; the call does not wait for the device. For a NumPy array, a
        NumPy scalar or array.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 0 + _WIDE * wide, axis, out, stream)


def min(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the minimum, ignoring NaNs.

    The minimum is NaN if all elements are NaN, and the type's largest value if there are no elements. -0 is less than +0.
    The arguments and the type of the result are those of :func:`sum`.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 1 + _WIDE * wide, axis, out, stream)


def max(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the maximum, ignoring NaNs.

    The maximum is NaN if all elements are NaN, and the type's smallest value if there are no elements. -0 is less than +0.
    The arguments and the type of the result are those of :func:`sum`.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 2 + _WIDE * wide, axis, out, stream)


def mean(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the mean of floats: the sum, divided by the number of elements and rounded once.

    The mean of no elements is NaN. The arguments are those of :func:`sum`.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 3 + _WIDE * wide, axis, out, stream)


def sum_of_squares(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the sum of the squares of floats.

    Squares of large float32 overflow to infinity, unless ``wide=True``. The arguments are those of :func:`sum`.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 4 + _WIDE * wide, axis, out, stream)


def norm(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the L2 norm of floats: the square root of :func:`sum_of_squares`. The arguments are those of :func:`sum`."""
    return (_reducers.get(type(x)) or _find(x))(x, 5 + _WIDE * wide, axis, out, stream)


def sum_of_magnitudes(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the sum of the magnitudes of floats, their L1 norm. The arguments are those of :func:`sum`."""
    return (_reducers.get(type(x)) or _find(x))(x, 6 + _WIDE * wide, axis, out, stream)


def largest_magnitude(x, axis=None, *, wide=False, out=None, stream=None):
    """Return the largest magnitude of floats, ignoring NaNs.

    The result is NaN if all elements are NaN, and 0 if there are no elements. The arguments are those of :func:`sum`.
    """
    return (_reducers.get(type(x)) or _find(x))(x, 7 + _WIDE * wide, axis, out, stream)


def count_nonzero(x, axis=None, *, out=None, stream=None):
    """Return the number of elements that are not zero, as int64. NaN is not zero; -0 is.

    The arguments are those of :func:`sum`, without ``wide``.
    """
    return (_reducers.get(type(x)) or _find(x))(x, _TRUTH, axis, out, stream)


def any(x, axis=None, *, out=None, stream=None):
    """Return 1 if any element is not zero, and 0 otherwise, as int64. The arguments are those of :func:`count_nonzero`."""
    return (_reducers.get(type(x)) or _find(x))(x, _TRUTH + 2, axis, out, stream)


def all(x, axis=None, *, out=None, stream=None):
    """Return 1 if no element is zero, and 0 otherwise, as int64. The arguments are those of :func:`count_nonzero`."""
    return (_reducers.get(type(x)) or _find(x))(x, _TRUTH + 1, axis, out, stream)


def argmin(x, axis=None):
    """Return the lowest index of an element that is the minimum or, with ``axis=-1``, that of each row, as int64.

    NaNs are ignored, unless all elements are NaN: then the index is 0. -0 is less than +0. It is an error if there are
    no elements. ``x`` is a NumPy array, a torch tensor or a CuPy array; its types and shapes are those of :func:`sum`.
    """
    return _forms.find(x, 1, axis)


def argmax(x, axis=None):
    """Return the lowest index of an element that is the maximum or, with ``axis=-1``, that of each row, as int64.

    NaNs are ignored, unless all elements are NaN: then the index is 0. The arguments are those of :func:`argmin`.
    """
    return _forms.find(x, 2, axis)


def min_max(x, axis=None):
    """Return the minimum and the maximum, as :func:`min` and :func:`max` do, in one pass over the array.

    ``x`` is a NumPy array, a torch tensor or a CuPy array; its types and shapes are those of :func:`sum`.
    """
    return _forms.min_max(x, axis)


def dot(a, b, *, wide=False):
    """Return the sum of the products of two arrays. Each product is rounded; the products are added in the order of :func:`sum`.

    Both are contiguous NumPy arrays, torch tensors or CuPy arrays on one device, of one shape and type: floats, or
    integers of 32 or 64 bits. The result has the type of their sum. With ``wide=True``, float32 is multiplied and added as
    float64, and int32 and uint32 as 64-bit integers. :func:`exact_dot` rounds once.
    """
    return _forms.dot(a, b, wide)


def foreach(arrays, operation="norm", *, wide=False):
    """Return the result for each array of a list, and the result for all together, in one launch.

    The default gives the norms of a model's gradients, and their global norm. ``operation`` is the name of a function of
    this module, such as ``"sum"``. The arrays are contiguous NumPy arrays, torch tensors or CuPy arrays of one type on one
    device, and may have any lengths. Each result has the bits that it has alone. ``wide`` is that of :func:`sum`. The
    addresses of the last lists stay on the device, so that a call for the same arrays copies nothing.
    """
    return _forms.foreach(arrays, operation, wide)


def ragged(x, offsets, operation="sum", *, wide=False):
    """Return the result for each ragged row: row r has elements ``offsets[r]`` to ``offsets[r + 1] - 1``.

    ``x`` is a contiguous NumPy array, a torch tensor or a CuPy array, and ``offsets`` an array of int64 on the same device,
    with one element more than there are rows. Each result has the bits that the row has alone; that of an empty row is
    the result of no elements. The call waits until the device has checked the offsets. ``operation`` is the name of a function
    of this module. ``wide`` is that of :func:`sum`.
    """
    return _forms.ragged(x, offsets, operation, wide)


def moments(x, axis=None, *, ddof=0):
    """Return the mean and the variance of floats, or those of each row with ``axis=-1``, in one pass.

    The variance is the sum of the squared differences from the mean, divided by the number of elements less ``ddof``, and
    NaN if there are not more. Differences from the first element are added as float64, so little is lost if the variance is
    small beside the mean. ``x`` is a NumPy array, a torch tensor or a CuPy array. A block adds a row, so few long rows are slow.
    """
    return _forms.moments(x, axis, ddof)


def log_sum_exp(x, axis=None):
    """Return the logarithm of the sum of the exponentials of floats, or that of each row with ``axis=-1``, in one pass.

    It does not overflow. The result of no elements is minus infinity, and that of elements with NaN is NaN. ``x`` is a NumPy
    array, a torch tensor or a CuPy array. A block reads a row, so few long rows are slow.
    """
    return _forms.log_sum_exp(x, axis)


def exact_sum(x, axis=None, *, out=None, stream=None):
    """Return the exact sum of all elements or, with ``axis=-1``, of each row, rounded once to nearest, ties to even.

    It has the same bits in any order of the elements. The arguments are those of :func:`sum`, for arrays of float16,
    bfloat16, float32 or float64; sums of 16-bit floats are float32.
    """
    return (_reducers.get(type(x)) or _find(x))(x, _checks.EXACT, axis, out, stream)


def exact_dot(a, b):
    """Return the exact sum of the products of two arrays, element by element, rounded once to nearest, ties to even.

    Both are NumPy arrays, or both are torch tensors on one device, of one shape and type: float16, bfloat16, float32 or
    float64. The result of 16-bit floats is float32.
    """
    return _exact.module_of(a, "exact_dot").exact_dot(a, b)


def exact_norm(x):
    """Return the square root of the exact sum of the squares, rounded once. For a tensor on a GPU, wait for its stream.

    The arguments are those of :func:`exact_dot`. ``exact_dot(x, x)`` is the sum of the squares, which can overflow where the
    norm does not.
    """
    return _exact.exact_norm(x)


def _find(x):
    """Finds the function that reduces a type of array, and adds it to the table."""
    kind, module = type(x), type(x).__module__.partition(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        from . import _torch

        found = _torch.reduce
    elif module == "numpy":
        found = _numpy.reduce
    elif module == "cupy":
        from . import _cupy

        found = _cupy.reduce
    elif hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack__"):
        found = _arrays.reduce
    else:
        raise TypeError(
            f"samebits reduces NumPy arrays, and arrays with __cuda_array_interface__ or __dlpack__, but not {kind.__name__}: convert it to an array"
        )
    _reducers[kind] = found
    return found
