"""NumPy arrays, reduced on the host."""

from . import _checks, _forms
from ._samebits import host_exact_dot, host_reduce, host_reduce_rows


def reduce(x, operation, axis, out, stream):
    import numpy

    if stream is not None:
        raise ValueError("an array in host memory is reduced on the host: omit stream")
    x, kind, strides = _checked(x, operation)
    if _checks.is_other_axis(x.shape, axis, operation):
        return _forms.along(x, operation, axis, out)
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, strides, axis, operation)
    shape = x.shape[:-1] if by_rows else ()
    result = numpy.dtype(_checks.result(kind, operation))
    target = numpy.zeros(shape, result) if out is None else _writable(out, shape, result)
    if not by_rows:
        host_reduce(operation, kind, x.ctypes.data, elements, target.ctypes.data)
    elif rows and elements:
        host_reduce_rows(operation, kind, x.ctypes.data, rows, elements, pitch, target.ctypes.data)
    elif rows:
        empty = numpy.zeros((), result)
        host_reduce(operation, kind, empty.ctypes.data, 0, empty.ctypes.data)
        target[...] = empty
    return target[()] if out is None else out


def exact_dot(a, b):
    import numpy

    kind, (first, second), elements, _place, _kept = exact_inputs(a, b)
    target = numpy.zeros((), numpy.dtype(_checks.RESULTS[kind]))
    host_exact_dot(kind, first, second, elements, target.ctypes.data)
    return target[()]


def exact_inputs(*arrays):
    """Returns the number of the arrays' type, their addresses, the number of elements of each, None, and their owners."""
    import numpy

    for x in arrays[1:]:
        if not isinstance(x, (numpy.ndarray, numpy.generic)):
            raise TypeError(f"the second array is a {type(x).__name__}, but the first is a NumPy array: pass two NumPy arrays")
    checked = [_checked(x, _checks.EXACT) for x in arrays]
    shapes = [(x.shape, x.dtype.name) for x, _, _ in checked]
    _checks.one_length(shapes[0], shapes[-1], "arrays")
    rows = [_checks.rows_of(x.shape, strides, None, _checks.EXACT) for x, _, strides in checked]
    owners = [x for x, _, _ in checked]
    return checked[0][1], [x.ctypes.data for x in owners], rows[0][1][1], None, owners


def scalar(value, kind, x):
    """Returns a Python float as a scalar of the type of a result."""
    import numpy

    return numpy.dtype(_checks.RESULTS[kind]).type(value)


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
