"""Tests of DLPack tensors and of streams, which need no GPU: each error is found before any call to the driver."""

import ctypes

import pytest
import samebits
from samebits import _checks


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Lent:
    """A tensor in CUDA memory, as a framework lends it."""

    def __init__(self, shape=(4, 100), strides=None, type=(2, 32, 1), address=256, ndim=None, version=None, flags=0, name=None, device=2):
        self.shape = (ctypes.c_int64 * len(shape))(*shape) if shape is not None else None
        self.strides = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        ndim = len(shape or ()) if ndim is None else ndim
        tensor = _Tensor(address, device, 0, ndim, *type, self.shape, self.strides, 0)
        self.managed = _Managed(tensor) if version is None else _Versioned(*version, None, None, flags, tensor)
        self.name = name or (b"dltensor" if version is None else b"dltensor_versioned")
        self.device = device

    def __dlpack__(self, *, stream=None, max_version=None):
        return _capsule(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self):
        return (self.device, 0)


ROCM, PINNED = 10, 3


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"type": (5, 64, 1)}, TypeError, "does not reduce complex64"),
        ({"type": (6, 16, 1)}, TypeError, "does not reduce bool16"),
        ({"type": (0, 4, 1)}, TypeError, "does not reduce int4"),
        ({"type": (2, 32, 4)}, TypeError, "vectors of 4 float32"),
        ({"type": (77, 32, 1)}, TypeError, "does not reduce unknown32"),
        ({"strides": (1, 4)}, ValueError, "not contiguous"),
        ({"strides": (200, 2)}, ValueError, "not contiguous"),
        ({"shape": None, "ndim": 2}, ValueError, "2 dimensions, but no shape"),
        ({"ndim": -1}, ValueError, "-1 dimensions"),
        ({"shape": (4, -1)}, ValueError, "length -1"),
        ({"version": (2, 0)}, ValueError, "DLPack 2.0"),
        ({"name": b"used_dltensor"}, ValueError, "already consumed"),
        ({"device": ROCM}, ValueError, "DLPack's type 10: samebits supports CUDA"),
        ({"device": PINNED}, ValueError, "DLPack's type 3: samebits supports CUDA"),
    ],
)
def test_tensors_that_cannot_be_reduced(changes, error, words):
    with pytest.raises(error) as raised:
        samebits.sum(Lent(**changes), stream=1)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (Lent(shape=(), version=(1, 0), flags=1), ValueError, "out is read-only"),
        (Lent(shape=(), type=(2, 64, 1)), ValueError, "out has shape () and type float64"),
        (Lent(shape=(2,)), ValueError, "out has shape (2,)"),
        (Lent(shape=(), device=1), ValueError, "out is on a device of DLPack's type 1"),
        ([0.0], TypeError, "out is a list"),
    ],
)
def test_results_that_cannot_be_written(out, error, words):
    with pytest.raises(error) as raised:
        samebits.sum(Lent(), out=out, stream=1)
    assert words in str(raised.value)
    strided = Lent(shape=(4,), strides=(2,))
    with pytest.raises(ValueError, match="out is not contiguous"):
        samebits.sum(Lent(), axis=-1, out=strided, stream=1)


def test_results_over_the_rows():
    """The rows at addresses 256 to 1856 are read while the results are written."""
    for address in (244, 256, 1852):
        with pytest.raises(ValueError, match="out overlaps the array"):
            samebits.sum(Lent(address=256), axis=-1, out=Lent(shape=(4,), address=address), stream=1)
    for address in (240, 1856):
        _checks.apart(256, 1600, address, 16)


class Stream:
    """A stream of a framework that supports the protocol of cuda-python."""

    def __cuda_stream__(self):
        return (0, 0)


@pytest.mark.parametrize("stream", ["1", 1.5, -1, object()])
def test_streams_that_are_no_streams(stream):
    with pytest.raises(TypeError, match="pass the address of a CUDA stream"):
        samebits.sum(Lent(), stream=stream)


@pytest.mark.parametrize("stream", [0, 1, Stream()])
def test_the_default_stream_has_several_names(stream):
    """The null stream is passed to the framework as 1, because DLPack gives 0 no meaning."""

    class Asked(Lent):
        def __dlpack__(self, *, stream=None, max_version=None):
            raise RuntimeError(f"stream {stream}")

    with pytest.raises(RuntimeError, match="stream 1"):
        samebits.sum(Asked(), stream=stream)
