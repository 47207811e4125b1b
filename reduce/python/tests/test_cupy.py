"""Tests of CuPy arrays."""

import numpy
import pytest
import samebits
from conftest import bits, framework, needs_gpu, values

cupy = framework("cupy")
needs_gpu(cupy.cuda.is_available())

host = numpy.ones(10, "float32")

TYPES = ["float16", "float32", "float64", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_the_bits_of_the_host(name):
    for n in (0, 1, 1000, 30_001, 1_400_003):
        x = (values(n) / 100).astype(name) if name == "float16" else values(n, name)
        device = cupy.asarray(x)
        for function in (samebits.sum, samebits.min, samebits.max):
            result = function(device)
            assert isinstance(result, cupy.ndarray) and result.shape == ()
            assert bits(result.get()) == bits(function(x)), (n, function)


def test_rows_on_a_stream():
    x = values(1000 * 303).reshape(1000, 303)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        device = cupy.asarray(x)
        sums = samebits.sum(device[:, :300], axis=-1)
        out = cupy.empty(1000, "float32")
        assert samebits.sum(device[:, :300], axis=-1, out=out) is out
        stream.synchronize()
    expected = bits(samebits.sum(x[:, :300], axis=-1))
    assert (bits(sums.get()) == expected).all() and (bits(out.get()) == expected).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: samebits.sum(x.T), ValueError, "not contiguous"),
        (lambda x: samebits.sum(x.astype("complex64")), TypeError, "does not reduce complex64"),
        (lambda x: samebits.sum(x, stream=1), ValueError, "with stream"),
        (lambda x: samebits.sum(x, out=numpy.zeros((), "float32")), TypeError, "out is a ndarray"),
        (lambda x: samebits.sum(x, out=cupy.zeros(3, "float32")), ValueError, "out has shape"),
    ],
)
def test_what_cannot_be_reduced(call, error, words):
    with pytest.raises(error) as raised:
        call(cupy.ones((10, 100), "float32"))
    assert words in str(raised.value)


def test_an_interface_names_the_stream_that_writes_the_array():
    class Lent:
        def __init__(self, x, stream):
            self.interface = {**x.__cuda_array_interface__, "stream": stream}

        @property
        def __cuda_array_interface__(self):
            return self.interface

    theirs, ours = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with theirs:
        x = cupy.zeros(1 << 24, "float32")
        for _ in range(300):
            x += 1
    result = samebits.sum(Lent(x, theirs.ptr), stream=ours.ptr)
    ours.synchronize()
    assert cupy.asarray(result) == 300 * (1 << 24)


def test_an_input_is_kept_until_its_launch_is_done():
    from samebits import _arrays

    class Lent:
        def __init__(self, x):
            self.x = x

        @property
        def __cuda_array_interface__(self):
            return self.x.__cuda_array_interface__

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        busy = cupy.zeros(1 << 26, "float32")
        for _ in range(300):
            busy += 1
    x = cupy.ones(1000, "float32")
    cupy.cuda.Stream.null.synchronize()
    _arrays._read.clear()
    result = samebits.sum(Lent(x), stream=stream.ptr)
    assert [owner.x is x for _, owner in _arrays._read] == [True]
    stream.synchronize()
    assert cupy.asarray(result) == 1000
    samebits.sum(Lent(cupy.ones(10, "float32")), stream=stream.ptr)
    assert len(_arrays._read) == 1, "the first input is released"


@pytest.mark.skipif(cupy.cuda.runtime.getDeviceCount() < 2, reason="there is one GPU")
def test_two_devices():
    x = values(1_400_003)
    for number in (1, 0):
        with cupy.cuda.Device(number):
            device = cupy.asarray(x)
        result = samebits.sum(device)
        assert result.device.id == number and bits(result.get()) == bits(samebits.sum(x))
    with cupy.cuda.Device(1):
        out = cupy.zeros((), "float32")
    with pytest.raises(ValueError, match="out is on device 1"):
        samebits.sum(cupy.asarray(x), out=out)


def test_an_address_of_the_host_is_refused():
    class Lent:
        __cuda_array_interface__ = {**cupy.ones(10, "float32").__cuda_array_interface__, "data": (host.ctypes.data, False)}

    with pytest.raises(ValueError, match="not in memory that CUDA allocated"):
        samebits.sum(Lent(), stream=1)


def test_protocols():
    """An array that supports only the protocol is reduced on the stream that the caller passes."""

    class Lent:
        def __init__(self, x, **changes):
            self.x = x
            self.__dict__["interface"] = {**x.__cuda_array_interface__, **changes}

        @property
        def __cuda_array_interface__(self):
            return self.interface

    x = values(10_001)
    device = cupy.asarray(x)
    with pytest.raises(ValueError, match="pass stream="):
        samebits.sum(Lent(device))
    result = samebits.sum(Lent(device), stream=1)
    cupy.cuda.Stream.null.synchronize()
    assert bits(cupy.asarray(result).get()) == bits(samebits.sum(x))
    out = cupy.zeros((), "float32")
    samebits.sum(Lent(device), out=Lent(out), stream=1)
    assert bits(out.get()) == bits(samebits.sum(x))
    address = out.data.ptr
    with pytest.raises(ValueError, match="read-only"):
        samebits.sum(Lent(device), out=Lent(out, data=(address, True)), stream=1)
    with pytest.raises(TypeError, match="byte order"):
        samebits.sum(Lent(device, typestr=">f4"), stream=1)

    class ByDlpack:
        def __dlpack__(self, **arguments):
            return device.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return device.__dlpack_device__()

    result = samebits.sum(ByDlpack(), stream=1)
    cupy.cuda.Stream.null.synchronize()
    assert bits(cupy.from_dlpack(result).get()) == bits(samebits.sum(x))
    # A capsule that is not consumed is freed.
    result.__dlpack__()
