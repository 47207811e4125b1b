"""Tests of numba's device arrays, which support only the CUDA array interface."""

import numpy
import pytest
import samebits
from conftest import bits, framework, needs_gpu, values

cuda = framework("numba.cuda")
needs_gpu(cuda.is_available())


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "uint64"])
def test_every_type_has_the_bits_of_the_host(name):
    for n in (0, 1, 1000, 30_001, 1_400_003):
        x = values(n, name)
        result = samebits.sum(cuda.to_device(x), stream=1)
        assert isinstance(result, samebits.Array) and result.shape == []
        cuda.synchronize()
        assert bits(cuda.as_cuda_array(result).copy_to_host()) == bits(samebits.sum(x)), n


def test_rows_on_a_stream():
    x, stream = values(1000 * 303).reshape(1000, 303), cuda.stream()
    device, out = cuda.to_device(x, stream=stream), cuda.device_array(1000, "float32")
    assert samebits.sum(device[:, :300], axis=-1, out=out, stream=int(stream)) is out
    stream.synchronize()
    assert (bits(out.copy_to_host()) == bits(samebits.sum(x[:, :300], axis=-1))).all()


def test_what_cannot_be_done():
    device = cuda.to_device(values(1000))
    with pytest.raises(ValueError, match="pass stream="):
        samebits.sum(device)
    with pytest.raises(TypeError, match="in numba, int"):
        samebits.sum(device, stream="1")
    with pytest.raises(TypeError, match="does not reduce complex64"):
        samebits.sum(cuda.to_device(numpy.zeros(10, "complex64")), stream=1)


@pytest.mark.skipif(len(cuda.gpus) < 2, reason="there is one GPU")
def test_two_devices():
    """The interface does not name the device, so samebits asks the driver."""
    x = values(1_400_003)
    for device in (1, 0):
        with cuda.gpus[device]:
            result = samebits.sum(cuda.to_device(x), stream=1)
            cuda.synchronize()
            assert result.device == device
            assert bits(cuda.as_cuda_array(result).copy_to_host()) == bits(samebits.sum(x))
    with cuda.gpus[1]:
        elsewhere = cuda.device_array((), "float32")
    with pytest.raises(ValueError, match="out is on device 1, but the array is on device 0"):
        samebits.sum(cuda.to_device(x), out=elsewhere, stream=1)
