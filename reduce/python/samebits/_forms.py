"""Indices, both extremes in one pass, dot products, other axes, lists, ragged rows and statistics of rows.

The arrays are NumPy arrays, torch tensors and CuPy arrays.
"""

import collections
import sys

from . import _checks
from ._samebits import dot as _dot
from ._samebits import List, find_rows, host_reduce_list, log_sum_exp_rows, min_max_rows, moments_rows, reduce_columns, reduce_ragged


class _Numpy:
    def __init__(self, x):
        import numpy

        from ._numpy import _checked

        self.x, self.kind, self.strides = _checked(x, _checks.SUM)
        self.shape, self.name = self.x.shape, self.x.dtype.name
        self.address, self.place, self.where = self.x.ctypes.data, None, "the host"
        self._empty = numpy.empty

    def room(self, shape, name):
        made = self._empty(shape, name)
        return made, made.ctypes.data

    def made(self, array):
        return array[()]


class _Torch:
    def __init__(self, x):
        import torch

        from . import _torch

        if x.layout is not torch.strided or x.is_nested:
            raise TypeError("the tensor is sparse or nested: convert it with x.to_dense(), or pass each of x.unbind()")
        if x.requires_grad and torch.is_grad_enabled():
            raise NotImplementedError("this function of samebits has no gradient: use x.detach(), or torch's own function")
        if _torch._transforms() or _torch._is_seen(x):
            raise NotImplementedError("this function of samebits needs a tensor with memory: call it outside of torch.func, FakeTensorMode and make_fx")
        if x.device.type not in ("cuda", "cpu"):
            raise ValueError(f"the tensor is on {x.device}: samebits supports tensors on cuda and cpu")
        self.x = x = x.resolve_neg()
        self.name = str(x.dtype).removeprefix("torch.")
        self.kind, self.shape, self.strides = _checks.kind(self.name), tuple(x.shape), x.stride()
        self.address, self.where = x.data_ptr(), str(x.device)
        device = x.get_device()
        self.place = (device, _torch._stream(device)) if x.is_cuda else None
        self._torch = torch

    def room(self, shape, name):
        made = self.x.new_empty(shape, dtype=getattr(self._torch, name))
        return made, made.data_ptr()

    def made(self, array):
        return array


class _Cupy:
    def __init__(self, x):
        import cupy

        self.x, self.name, size = x, x.dtype.name, x.dtype.itemsize
        self.kind, self.shape = _checks.kind(self.name), x.shape
        self.strides = tuple(stride // size for stride in x.strides)
        self.address, device = x.data.ptr, x.data.device_id
        self.where, self._empty = f"device {device}", cupy.empty
        with x.device:
            self.place = (device, cupy.cuda.get_current_stream().ptr)

    def room(self, shape, name):
        with self.x.device:
            made = self._empty(shape, name)
        return made, made.data.ptr

    def made(self, array):
        return array


def _of(x, function):
    torch = sys.modules.get("torch")
    module = type(x).__module__.partition(".")[0]
    if torch is not None and isinstance(x, torch.Tensor):
        return _Torch(x)
    if module == "numpy":
        return _Numpy(x)
    if module == "cupy":
        return _Cupy(x)
    raise TypeError(
        f"samebits.{function} takes NumPy arrays, torch tensors and CuPy arrays, but not {type(x).__name__}: convert it to one of them"
    )


def find(x, operation, axis):
    """Returns the indices of the smallest or largest elements."""
    name = "argmin" if operation == 1 else "argmax"
    x = _of(x, name)
    by_rows, rows = _checks.rows_of(x.shape, x.strides, axis, operation)
    if not rows[1] and (rows[0] or not by_rows):
        raise ValueError(f"samebits.{name} of no elements has no index: pass at least one element")
    indices, address = x.room(x.shape[:-1] if by_rows else (), "int64")
    if rows[0] and rows[1]:
        find_rows(operation, x.kind, x.address, rows, 0, address, x.place)
    return x.made(indices)


def min_max(x, axis):
    """Returns the minima and the maxima."""
    x = _of(x, "min_max")
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, x.strides, axis, 1)
    shape, name = x.shape[:-1] if by_rows else (), _checks.RESULTS[x.kind]
    (low, lows), (high, highs) = x.room(shape, name), x.room(shape, name)
    if elements:
        if rows:
            min_max_rows(x.kind, x.address, (rows, elements, pitch), lows, highs, x.place)
    else:
        # The rows have no elements, so each result is that of an empty array.
        size = _checks.result_size(x.kind, 1)
        for row in range(rows):
            min_max_rows(x.kind, 0, (1, 0, 0), lows + size * row, highs + size * row, x.place)
    return x.made(low), x.made(high)


def dot(a, b, wide):
    """Returns the sum of the products of two arrays."""
    a, b = _of(a, "dot"), _of(b, "dot")
    if type(a) is not type(b) or a.where != b.where:
        raise ValueError(f"the first array is a {type(a.x).__name__} on {a.where}, but the second is a {type(b.x).__name__} on {b.where}: pass two arrays of one framework and device")
    _checks.one_length((a.shape, a.name), (b.shape, b.name), "arrays")
    if a.kind >= _checks.KINDS["int8"]:
        raise TypeError(f"samebits.dot multiplies floats and integers of 32 or 64 bits, but the arrays are {a.name}: convert them first")
    operation = _checks.WIDE * wide
    _checks.fits(a.name, operation)
    _, (_, elements, _) = _checks.rows_of(a.shape, a.strides, None, operation)
    _checks.rows_of(b.shape, b.strides, None, operation)
    target, address = a.room((), _checks.result(a.kind, operation))
    _dot(a.kind, bool(wide), a.address, b.address, elements, address, a.place)
    return a.made(target)


def along(x, operation, axis, out):
    """Returns the results along an axis that is not the last."""
    x = _of(x, _checks.name_of(operation))
    _checks.fits(x.name, operation)
    layout = _checks.columns_of(x.shape, x.strides, axis)
    shape = tuple(length for i, length in enumerate(x.shape) if i != axis % len(x.shape))
    name = _checks.result(x.kind, operation)
    if out is None:
        target, address = x.room(shape, name)
    else:
        other = _of(out, _checks.name_of(operation))
        if type(other) is not type(x) or other.where != x.where:
            raise ValueError(f"out is a {type(out).__name__} on {other.where}, but the array is a {type(x.x).__name__} on {x.where}: pass an array of the same framework and device")
        _checks.out_matches(other.shape, other.name, shape, name)
        if not _checks._contiguous(other.shape, other.strides):
            raise ValueError("out is not contiguous: pass a contiguous array, or omit out=")
        if isinstance(x, _Numpy) and not out.flags.writeable:
            raise ValueError("out is read-only: pass an array that can be written to")
        target, address = out, other.address
        batches, rows, inner, pitch, apart = layout
        if batches * rows * inner:
            elements = (batches - 1) * apart + (rows - 1) * pitch + inner
            _checks.apart(x.address, elements * _checks.SIZES[x.kind], address, batches * inner * _checks.result_size(x.kind, operation))
    reduce_columns(operation, x.kind, x.address, layout, address, x.place)
    return x.made(target) if out is None else out


def _number(operation, wide):
    """Returns the number of an operation with a name."""
    for number, name in _checks.NAMES.items():
        if name == operation and number != _checks.EXACT:
            return number + _checks.WIDE * bool(wide)
    names = [name for number, name in _checks.NAMES.items() if number != _checks.EXACT]
    raise ValueError(f"operation is {operation!r}: use one of {', '.join(names)}")


# The most recently used lists, by the addresses and lengths of their arrays. A training loop
# reduces the same gradients repeatedly.
_lists = collections.OrderedDict()


def foreach(arrays, operation, wide):
    """Returns the result for each array, and for all together."""
    number, arrays = _number(operation, wide), [_of(x, "foreach") for x in arrays]
    if not arrays:
        raise ValueError("there are no arrays: pass at least one")
    first = arrays[0]
    for x in arrays:
        if (type(x), x.where, x.name) != (type(first), first.where, first.name):
            raise ValueError(f"the arrays must have one framework, device and type: the first is {first.name} on {first.where}, but another is {x.name} on {x.where}")
        _checks.rows_of(x.shape, x.strides, None, number)
    _checks.fits(first.name, number)
    slices = tuple((x.address, _checks.rows_of(x.shape, x.strides, None, number)[1][1]) for x in arrays)
    name = _checks.result(first.kind, number)
    (each, results), (total, at) = first.room((len(arrays),), name), first.room((), name)
    if first.place is None:
        host_reduce_list(number, first.kind, list(slices), results, at)
    else:
        key = (first.place[0], first.kind, slices)
        made = _lists.pop(key, None) or List(first.kind, list(slices), *first.place)
        _lists[key] = made
        if len(_lists) > 8:
            _lists.popitem(last=False)
        made.reduce(number, first.kind, results, at, *first.place)
    return first.made(each), first.made(total)


def ragged(x, offsets, operation, wide):
    """Returns the result for each ragged row."""
    number, x, offsets = _number(operation, wide), _of(x, "ragged"), _of(offsets, "ragged")
    _checks.fits(x.name, number)
    if type(offsets) is not type(x) or offsets.where != x.where:
        raise ValueError(f"the offsets are a {type(offsets.x).__name__} on {offsets.where}, but the array is a {type(x.x).__name__} on {x.where}: pass both on one device")
    if offsets.name not in ("int64", "uint64") or len(offsets.shape) != 1 or not offsets.shape[0]:
        raise ValueError(f"the offsets have type {offsets.name} and shape {offsets.shape}: pass one more int64 than there are rows")
    _, (_, elements, _) = _checks.rows_of(x.shape, x.strides, None, number)
    _checks.rows_of(offsets.shape, offsets.strides, None, number)
    rows = offsets.shape[0] - 1
    target, address = x.room((rows,), _checks.result(x.kind, number))
    if x.place is None:
        reduce_ragged(number, x.kind, x.address, elements, offsets.address, rows, address, 0, None)
        return x.made(target)
    bad, word = x.room((1,), "int64")
    bad[:] = 0
    reduce_ragged(number, x.kind, x.address, elements, offsets.address, rows, address, word, x.place)
    row = int(bad[0])
    if row:
        raise ValueError(f"row {~row} has offsets {int(offsets.x[~row])} to {int(offsets.x[~row + 1])}, but the array has {elements} elements: offsets must neither decrease nor exceed the number of elements")
    return x.made(target)


def _rows_of_floats(x, function, axis):
    """Returns the array, its rows, and the shape and the type of a statistic of each row."""
    x = _of(x, function)
    if x.name not in _checks.FLOATS:
        raise TypeError(f"samebits.{function} is only for {', '.join(_checks.FLOATS)}, but the array is {x.name}: convert it to one of them")
    by_rows, rows = _checks.rows_of(x.shape, x.strides, axis, _checks.SUM)
    return x, rows, (x.shape[:-1] if by_rows else (), _checks.RESULTS[x.kind])


def moments(x, axis, ddof):
    """Returns the means and the variances."""
    x, rows, result = _rows_of_floats(x, "moments", axis)
    if not hasattr(ddof, "__index__") or ddof < 0:
        raise ValueError(f"ddof is {ddof!r}: pass an integer that is not negative")
    (means, first), (variances, second) = x.room(*result), x.room(*result)
    if rows[0] and rows[1]:
        moments_rows(x.kind, x.address, rows, int(ddof), first, second, x.place)
    elif rows[0]:
        means[...] = variances[...] = float("nan")
    return x.made(means), x.made(variances)


def log_sum_exp(x, axis):
    """Returns the logarithms of the sums of exponentials."""
    x, rows, result = _rows_of_floats(x, "log_sum_exp", axis)
    found, address = x.room(*result)
    if rows[0] and rows[1]:
        log_sum_exp_rows(x.kind, x.address, rows, address, x.place)
    elif rows[0]:
        found[...] = float("-inf")
    return x.made(found)
