"""CuPy arrays, reduced on CuPy's current stream of their device."""

import cupy
import numpy

from . import _checks, _forms
from ._arrays import launch
from ._samebits import reduce_into

_KINDS = {numpy.dtype(name): kind for name, kind in _checks.KINDS.items() if name != "bfloat16"}
_RESULTS = tuple(numpy.dtype(name) for name in _checks.RESULTS)
_FLOATS = tuple(_checks.KINDS[name] for name in _checks.FLOATS)
_OTHERS = range(_checks.WIDE, _checks.EXACT)  # The operations whose results have other types.
_device = cupy.cuda.runtime.getDevice
_stream = cupy.cuda.get_current_stream


def reduce(x, operation, axis, out, stream):
    kind, device = _KINDS.get(x.dtype), x.data.device_id
    # Most calls use this fast path, which has as little overhead before the launch as possible.
    known = kind is not None and (operation < _checks.ONLY_FLOATS[0] or kind in _FLOATS and operation not in _OTHERS)
    if axis is None and out is None and stream is None and known and x.flags.c_contiguous and _device() == device:
        target = cupy.ndarray((), _RESULTS[kind])
        reduce_into(operation, kind, x.data.ptr, x.size, target.data.ptr, device, _stream().ptr)
        return target
    return _any(x, operation, axis, out, stream, device)


def _any(x, operation, axis, out, stream, device):
    if stream is not None:
        raise ValueError("a CuPy array is reduced on CuPy's current stream: use `with stream:` instead of stream=")
    if _checks.is_other_axis(x.shape, axis, operation):
        return _forms.along(x, operation, axis, out)
    kind = _checks.kind(x.dtype.name)
    _checks.fits(x.dtype.name, operation)
    size = x.dtype.itemsize
    strides = tuple(stride // size for stride in x.strides)
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, strides, axis, operation)
    shape, name = x.shape[:-1] if by_rows else (), _checks.result(kind, operation)
    if out is None:
        with x.device:
            target = cupy.empty(shape, name)
    else:
        if not isinstance(out, cupy.ndarray):
            raise TypeError(f"out is a {type(out).__name__}: for a CuPy array, out must be a CuPy array")
        _checks.out_matches(out.shape, out.dtype.name, shape, name)
        if out.device.id != device:
            raise ValueError(f"out is on device {out.device.id}, but the array is on device {device}")
        if not out.flags.c_contiguous:
            raise ValueError("out is not contiguous: pass a contiguous array, or omit out=")
        target = out
    with x.device:
        current = _stream().ptr
    launch(operation, kind, x.data.ptr, by_rows, rows, elements, pitch, target.data.ptr, device, current)
    return target
