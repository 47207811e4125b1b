"""Device arrays of JAX, numba and all other libraries that support the same protocols."""

import collections
import threading

from . import _checks
from ._samebits import Array, device_of, import_dlpack, mark, reduce_into, reduce_rows_into, wait

CPU, CUDA, CUDA_HOST, MANAGED = 1, 2, 3, 13

_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_TYPESTRS = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8"}
_DLPACK = {"float32": (2, 32), "float64": (2, 64), "int32": (0, 32), "uint32": (1, 32), "int64": (0, 64), "uint64": (1, 64)}


class _View:
    """An array in device memory, from any framework.

    ``device`` is None until it is known, and ``stream`` is the stream that writes the array, or None if the framework
    has already ordered its work before the caller's stream.
    """

    def __init__(self, address, shape, strides, name, device, read_only, owner, stream=None):
        self.address, self.shape, self.strides = address, tuple(shape), strides
        self.name, self.device, self.read_only = name, device, read_only
        self.owner, self.stream = owner, stream

    def order(self, stream):
        """Finds the array's device, and makes a stream wait for the framework's work on the array."""
        if not self.address:
            return  # An array without elements.
        if self.device is None:
            self.device = device_of(self.address)
        if self.stream is not None and self.stream != stream:
            wait(self.device, stream, self.stream)


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
    if _is_jax(x) and _is_tracer(x):
        raise TypeError("the array is traced by jax.jit, jax.vmap or jax.grad: call samebits outside of them, or through jax.pure_callback")
    kind = x.__dlpack_device__()[0] if hasattr(x, "__dlpack_device__") else CUDA
    if kind == CPU:
        return _on_the_host(x, operation, axis, out, stream)
    if kind not in (CUDA, MANAGED):
        raise ValueError(f"the array is on a device of DLPack's type {int(kind)}: samebits supports CUDA ({CUDA}) and the host ({CPU})")
    if stream is None:
        raise ValueError(
            f"samebits cannot find the current stream of {type(x).__module__}: pass stream=, the address of a CUDA stream (1 is the default stream)"
        )
    stream = _handle(stream)
    view = _view(x, stream)
    found = _checks.kind(view.name)
    _checks.fits(view.name.replace("bool8", "bool"), operation)
    by_rows, (rows, elements, pitch) = _checks.rows_of(view.shape, view.strides, axis, operation)
    shape, name = view.shape[:-1] if by_rows else (), _checks.result(found, operation)
    if out is None:
        view.order(stream)
        device = view.device or 0
        target = Array(shape, _TYPESTRS[name], _DLPACK[name], device, stream)
        address = target.address
    else:
        if _is_jax(out):
            raise ValueError("out is a JAX array, which is immutable: omit out=")
        if not (hasattr(out, "__dlpack__") or hasattr(out, "__cuda_array_interface__")):
            raise TypeError(f"out is a {type(out).__name__}: pass a GPU array, or omit out=")
        out_kind = out.__dlpack_device__()[0] if hasattr(out, "__dlpack_device__") else CUDA
        if out_kind not in (CUDA, MANAGED):
            raise ValueError(f"out is on a device of DLPack's type {int(out_kind)}, but the array is in CUDA memory: pass an array on the same GPU")
        into = _view(out, stream)
        _checks.out_matches(into.shape, into.name, shape, name)
        if into.read_only:
            raise ValueError("out is read-only: pass an array that can be written to")
        if not _checks._contiguous(into.shape, into.strides):
            raise ValueError("out is not contiguous: pass a contiguous array, or omit out=")
        view.order(stream)
        into.order(stream)
        if None not in (into.device, view.device) and into.device != view.device:
            raise ValueError(f"out is on device {into.device}, but the array is on device {view.device}")
        device = view.device or into.device or 0
        target, address = out, into.address
    launch(operation, found, view.address, by_rows, rows, elements, pitch, address, device, stream)
    _keep(view.owner, device, stream)
    return target if out is not None else _returned(x, target)


def launch(operation, kind, input, by_rows, rows, elements, pitch, output, device, stream):
    size = _checks.result_size(kind, operation)
    if rows > 1 and elements:
        _checks.apart(input, (pitch * (rows - 1) + elements) * _checks.SIZES[kind], output, rows * size)
    if not by_rows:
        reduce_into(operation, kind, input, elements, output, device, stream)
    elif rows and elements:
        reduce_rows_into(operation, kind, input, rows, elements, pitch, output, device, stream)
    else:
        # The rows have no elements, so each result is that of an empty array.
        for row in range(rows):
            reduce_into(operation, kind, 0, 0, output + size * row, device, stream)


def _handle(stream):
    """Returns the address of a stream. The null stream is the default stream, which the protocols call 1."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        stream = protocol()[1]
    if not hasattr(stream, "__index__") or stream < 0:
        raise TypeError(
            f"stream is {stream!r}: pass the address of a CUDA stream (1 is the default stream; in numba, int(stream)), or an object with __cuda_stream__"
        )
    return int(stream) or 1


def _view(x, stream):
    # DLPack is preferred, because the framework then makes the stream wait for the array's data.
    if not hasattr(x, "__dlpack__"):
        return _from_interface(x, x.__cuda_array_interface__)
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__(stream=stream)
    borrowed = import_dlpack(capsule)
    name = f"{_CODES.get(borrowed.code, 'unknown')}{borrowed.bits}"
    if borrowed.lanes != 1:
        name = f"vectors of {borrowed.lanes} {name}"
    return _View(borrowed.address, borrowed.shape, borrowed.strides, name, borrowed.device, borrowed.read_only, (x, borrowed))


def _from_interface(x, interface):
    address, read_only = interface["data"]
    typestr, shape, strides = interface["typestr"], interface["shape"], interface.get("strides")
    letter, size = typestr[1], int(typestr[2:])
    name = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}.get(letter, typestr) + str(8 * size)
    if typestr[0] == ">":
        raise TypeError("the array's byte order is not this machine's: convert the array")
    if interface.get("mask") is not None:
        raise TypeError("samebits has no masked reductions: pass an array without a mask")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise ValueError("the array's strides are not multiples of the element size: copy it first")
        strides = tuple(stride // size for stride in strides)
    theirs = interface.get("stream")
    if theirs == 0:
        raise ValueError("the array's stream is 0, which its protocol does not allow: 1 is the default stream")
    return _View(address or 0, shape, strides, name, None, read_only, x, theirs)


def _returned(x, array):
    """Returns the result as an array of the framework that `x` belongs to."""
    if _is_jax(x):
        import jax

        return jax.dlpack.from_dlpack(array)
    return array


def _is_jax(x):
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def _is_tracer(x):
    import jax

    return isinstance(x, jax.core.Tracer)


def _on_the_host(x, operation, axis, out, stream):
    import numpy

    from . import _numpy

    if out is not None:
        raise ValueError("out= works with NumPy arrays and GPU arrays, but not with other host arrays: omit it")
    if not _is_jax(x):
        return _numpy.reduce(numpy.from_dlpack(x), operation, axis, None, stream)
    import jax

    # NumPy does not import bfloat16 through DLPack.
    result = _numpy.reduce(numpy.asarray(x), operation, axis, None, stream)
    return jax.device_put(result, next(iter(x.devices())))
