"""The sum, minimum and maximum of an array, with the same bits on every GPU, in every batch and on the host.

>>> import numpy, samebits
>>> samebits.sum(numpy.ones(1 << 20, numpy.float32))
np.float32(1048576.0)

GPU arrays are reduced on their device. torch tensors and CuPy arrays are reduced on the framework's current stream.
Other arrays that have ``__dlpack__`` or ``__cuda_array_interface__``, such as JAX's, are reduced on the stream that
you pass. The result is an array of the same framework, or a ``samebits.Array`` if the framework is not known.
"""

import sys

from . import _arrays, _numpy
from ._samebits import ORDER, Array, CudaError, __version__, close, is_available

__all__ = ["ORDER", "Array", "CudaError", "__version__", "close", "exact_dot", "exact_sum", "is_available", "max", "min", "sum"]

# The functions that reduce each type of array, and that multiply two.
_reducers = {}
_dots = {"numpy": "_numpy", "torch": "_torch"}


def sum(x, axis=None, *, out=None, stream=None):
    """Return the sum of all elements or, with ``axis=-1``, the sum of each row.

    The sum of a row has the same bits alone and in any batch. Sums of 16-bit floats are float32. Sums of integers
    keep their type and wrap.

    Parameters
    ----------
    x : array
        An array of float16, bfloat16, float32, float64, int32, uint32, int64 or uint64. It must be
        contiguous, but with ``axis=-1`` its rows may have a pitch, as in ``x[:, :100]``.
    axis : None or -1
        None for all elements, or -1 for the last axis.
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
    return _reducer(x)(x, 0, axis, out, stream)


def min(x, axis=None, *, out=None, stream=None):
    """Return the minimum, ignoring NaNs.

    The minimum is NaN if all elements are NaN, and the type's largest value if there are no elements. -0 is less than +0.
    The arguments are those of :func:`sum`, but ``axis`` must be None.
    """
    return _reducer(x)(x, 1, axis, out, stream)


def max(x, axis=None, *, out=None, stream=None):
    """Return the maximum, ignoring NaNs.

    The maximum is NaN if all elements are NaN, and the type's smallest value if there are no elements. -0 is less than +0.
    The arguments are those of :func:`sum`, but ``axis`` must be None.
    """
    return _reducer(x)(x, 2, axis, out, stream)


def exact_sum(x, axis=None, *, out=None, stream=None):
    """Return the exact sum of all elements or, with ``axis=-1``, of each row, rounded once to nearest, ties to even.

    It has the same bits in any order of the elements. The arguments are those of :func:`sum`, for arrays of float16,
    bfloat16, float32 or float64; sums of 16-bit floats are float32.
    """
    return _reducer(x)(x, 3, axis, out, stream)


def exact_dot(a, b):
    """Return the exact sum of the products of two arrays, element by element, rounded once to nearest, ties to even.

    Both are NumPy arrays, or both are torch tensors on one device, of one shape and type: float16, bfloat16 or float32,
    and on the host also float64. The result of 16-bit floats is float32.
    """
    import importlib

    torch = sys.modules.get("torch")
    tensors = torch is not None and isinstance(a, torch.Tensor)
    module = "torch" if tensors else type(a).__module__.partition(".")[0]
    if module not in _dots:
        raise TypeError(
            f"samebits.exact_dot takes NumPy arrays and torch tensors, but not {type(a).__name__}: convert it to one of them"
        )
    return importlib.import_module("." + _dots[module], __name__).exact_dot(a, b)


def _reducer(x):
    return _reducers.get(type(x)) or _find(x)


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
        found = _arrays.reduce_cupy
    elif hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack__"):
        found = _arrays.reduce
    else:
        raise TypeError(
            f"samebits reduces NumPy arrays, and arrays with __cuda_array_interface__ or __dlpack__, but not {kind.__name__}: convert it to an array"
        )
    _reducers[kind] = found
    return found
