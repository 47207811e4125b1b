"""NumPy arrays, reduced on the host."""

from . import _checks
from ._samebits import host_exact_dot, host_reduce, host_sum_rows


def reduce(x, operation, axis, out, stream):
    import numpy

    if stream is not None:
        raise ValueError("a NumPy array is reduced on the host: omit stream")
    x, kind, strides = _checked(x, operation)
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, strides, axis, operation)
    shape = x.shape[:-1] if by_rows else ()
    result = numpy.dtype(_checks.RESULTS[kind])
    target = numpy.zeros(shape, result) if out is None else _writable(out, shape, result)
    if not by_rows:
        host_reduce(operation, kind, x.ctypes.data, elements, target.ctypes.data)
    elif rows and elements:
        host_sum_rows(operation, kind, x.ctypes.data, rows, elements, pitch, target.ctypes.data)
    elif out is not None:
        target[...] = 0
    return target[()] if out is None else out


def exact_dot(a, b):
    import numpy

    if not isinstance(b, (numpy.ndarray, numpy.generic)):
        raise TypeError(f"the second array is a {type(b).__name__}, but the first is a NumPy array: pass two NumPy arrays")
    (a, kind, strides), (b, _, others) = _checked(a, _checks.EXACT), _checked(b, _checks.EXACT)
    _checks.one_length((a.shape, a.dtype.name), (b.shape, b.dtype.name), "arrays")
    elements = _checks.rows_of(a.shape, strides, None, _checks.EXACT)[1][1]
    _checks.rows_of(b.shape, others, None, _checks.EXACT)
    target = numpy.zeros((), numpy.dtype(_checks.RESULTS[kind]))
    host_exact_dot(kind, a.ctypes.data, b.ctypes.data, elements, target.ctypes.data)
    return target[()]


def _checked(x, operation):
    """Returns an array that can be reduced, the number of its type, and its strides in elements."""
    import numpy

    if isinstance(x, numpy.ma.MaskedArray):
        raise TypeError("samebits has no masked reductions: reduce x.compressed()")
    x = numpy.asarray(x)
    if x.dtype.byteorder not in "=|" and x.dtype != x.dtype.newbyteorder("="):
        raise TypeError("the array's byte order is not this machine's: convert it with x.astype")
    kind = _checks.kind(x.dtype.name)
    _checks.fits(x.dtype.name, operation)
    size = x.dtype.itemsize
    if not x.flags.aligned:
        raise ValueError("the array is not aligned to its elements: copy it first (x.copy())")
    if any(stride % size for stride in x.strides):
        raise ValueError("the array's strides are not multiples of the element size: copy it first (x.copy())")
    return x, kind, tuple(stride // size for stride in x.strides)


def _writable(out, shape, dtype):
    import numpy

    if not isinstance(out, numpy.ndarray):
        raise TypeError(f"out is a {type(out).__name__}: for a NumPy array, out must be a NumPy array")
    _checks.out_matches(out.shape, out.dtype.name, shape, dtype.name)
    if not out.flags.writeable:
        raise ValueError("out is read-only: pass an array that can be written to")
    if not (out.flags.c_contiguous and out.flags.aligned):
        raise ValueError("out is not contiguous and aligned: pass an array that is, or omit out=")
    return out
