"""Device arrays of CuPy, JAX, numba and all other libraries that support the same protocols."""

import collections
import threading

from . import _checks
from ._samebits import Array, import_dlpack, mark, reduce_into, sum_rows_into, wait

CPU, CUDA, CUDA_HOST, MANAGED = 1, 2, 3, 13

_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_TYPESTRS = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8"}
_DLPACK = {"float32": (2, 32), "float64": (2, 64), "int32": (0, 32), "uint32": (1, 32), "int64": (0, 64), "uint64": (1, 64)}


class _View:
    """An array in device memory, from any framework."""

    def __init__(self, address, shape, strides, name, device, read_only, owner):
        self.address, self.shape, self.strides = address, tuple(shape), strides
        self.name, self.device, self.read_only = name, device, read_only
        self.owner = owner


# The inputs whose launches may still be running, oldest first. They are kept alive, because a
# framework that does not know about the stream could reuse their memory.
_read = collections.deque()
_lock = threading.Lock()


def _keep(owner, device, stream):
    """Keeps an input alive until its launch is done; a later call releases the input."""
    point = mark(device, stream)
    with _lock:
        while _read and _read[0][0].is_passed():
            _read.popleft()
        if point is not None:
            _read.append((point, owner))


def reduce(x, operation, axis, out, stream):
    """Reduces any array that supports a protocol, on a stream that the caller passes."""
    kind, device = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else (CUDA, None)
    if kind == CPU:
        return _on_the_host(x, operation, axis, out, stream)
    if kind not in (CUDA, MANAGED):
        raise ValueError(f"the array is on a device of DLPack's type {int(kind)}: samebits supports CUDA ({CUDA}) and the host ({CPU})")
    if stream is None:
        raise ValueError(
            f"samebits cannot find the current stream of {type(x).__module__}: pass stream=, the address of a CUDA stream (1 is the default stream)"
        )
    view = _view(x, stream, device)
    found = _checks.kind(view.name)
    _checks.fits(view.name, operation)
    by_rows, (rows, elements, pitch) = _checks.rows_of(view.shape, view.strides, axis, operation)
    shape, name = view.shape[:-1] if by_rows else (), _checks.RESULTS[found]
    if out is None:
        target = Array(shape, _TYPESTRS[name], _DLPACK[name], view.device, stream)
        address = target.address
    else:
        into = _view(out, stream, device)
        _checks.out_matches(into.shape, into.name, shape, name)
        if into.read_only:
            raise ValueError("out is read-only: pass an array that can be written to")
        if into.device != view.device:
            raise ValueError(f"out is on device {into.device}, but the array is on device {view.device}")
        if not _checks._contiguous(into.shape, into.strides):
            raise ValueError("out is not contiguous: pass a contiguous array, or omit out=")
        target, address = out, into.address
    launch(operation, found, view.address, by_rows, rows, elements, pitch, address, view.device, stream)
    _keep(view.owner, view.device, stream)
    return target if out is not None else _returned(x, target)


def launch(operation, kind, input, by_rows, rows, elements, pitch, output, device, stream):
    if not by_rows:
        reduce_into(operation, kind, input, elements, output, device, stream)
    elif rows and elements:
        sum_rows_into(operation, kind, input, rows, elements, pitch, output, device, stream)
    else:
        # The rows have no elements, so every sum is 0.
        size = 8 if _checks.SIZES[kind] == 8 else 4
        for row in range(rows):
            reduce_into(operation, kind, 0, 0, output + size * row, device, stream)


def _view(x, stream, device):
    # DLPack is preferred, because with it the framework orders its own work before the stream's.
    if not hasattr(x, "__dlpack__"):
        return _from_interface(x, x.__cuda_array_interface__, device, stream)
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__(stream=stream)
    borrowed = import_dlpack(capsule)
    name = f"{_CODES.get(borrowed.code, 'unknown')}{borrowed.bits}"
    if borrowed.lanes != 1:
        name = f"vectors of {borrowed.lanes} {name}"
    return _View(borrowed.address, borrowed.shape, borrowed.strides, name, borrowed.device, borrowed.read_only, (x, borrowed))


def _from_interface(x, interface, device, stream):
    address, read_only = interface["data"]
    typestr, shape, strides = interface["typestr"], interface["shape"], interface.get("strides")
    letter, size = typestr[1], int(typestr[2:])
    name = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}.get(letter, typestr) + str(8 * size)
    if typestr[0] == ">":
        raise TypeError("the array's byte order is not this machine's: convert the array")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise ValueError("the array's strides are not multiples of the element size: copy it first")
        strides = tuple(stride // size for stride in strides)
    if device is None:
        device = _device_of(x)
    theirs = interface.get("stream")
    if theirs == 0:
        raise ValueError("the array's stream is 0, which its protocol does not allow: 1 is the default stream")
    if theirs is not None and theirs != stream:
        # The stream waits for the framework's work on the array.
        wait(device, stream, theirs)
    return _View(address or 0, shape, strides, name, device, read_only, x)


def _device_of(x):
    context = getattr(x, "device", None)
    ordinal = getattr(context, "id", context)
    return ordinal if isinstance(ordinal, int) else 0


def _returned(x, array):
    """Returns the result as an array of the framework that `x` belongs to."""
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        import jax

        return jax.dlpack.from_dlpack(array)
    return array


def _on_the_host(x, operation, axis, out, stream):
    import numpy

    from . import _numpy

    if out is not None:
        raise ValueError("out= works with NumPy arrays and GPU arrays, but not with other host arrays: omit it")
    return _numpy.reduce(numpy.from_dlpack(x), operation, axis, None, stream)


def reduce_cupy(x, operation, axis, out, stream):
    """Reduces a CuPy array, on CuPy's current stream."""
    import cupy

    if stream is not None:
        raise ValueError("a CuPy array is reduced on CuPy's current stream: use `with stream:` instead of stream=")
    kind = _checks.kind(x.dtype.name)
    _checks.fits(x.dtype.name, operation)
    size = x.dtype.itemsize
    strides = tuple(stride // size for stride in x.strides)
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, strides, axis, operation)
    shape, name = x.shape[:-1] if by_rows else (), _checks.RESULTS[kind]
    device = x.device.id
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
        current = cupy.cuda.get_current_stream().ptr
    launch(operation, kind, x.data.ptr, by_rows, rows, elements, pitch, target.data.ptr, device, current)
    return target
