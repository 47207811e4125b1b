"""Tests of JAX arrays, which are immutable and whose stream is unknown."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy
import pytest
import samebits
from conftest import bits, framework, needs_gpu, values

jax = framework("jax")


needs_gpu(any(device.platform == "gpu" for device in jax.devices()))


@pytest.mark.parametrize("name", ["float32", "int32", "uint32", "float16", "bfloat16"])
def test_every_type_has_the_bits_of_the_host(name):
    for n in (1, 1000, 30_001, 1_400_003):
        x = values(n) / 100 if "float" in name else values(n, name)
        device = jax.numpy.asarray(x).astype(name)
        expected = samebits.sum(numpy.asarray(device))
        result = samebits.sum(device, stream=1)
        assert isinstance(result, jax.Array) and result.shape == () and result.device.platform == "gpu"
        assert bits(numpy.asarray(result)) == bits(expected), n


def test_rows_of_what_jax_has_not_computed_yet():
    x = jax.numpy.ones((1000, 300)) * jax.numpy.arange(1000)[:, None]
    sums = samebits.sum(x * 2, axis=-1, stream=1)
    assert (numpy.asarray(sums) == numpy.arange(1000) * 600).all()


def test_what_cannot_be_done():
    x = jax.numpy.ones(1000)
    with pytest.raises(ValueError, match="pass stream="):
        samebits.sum(x)
    with pytest.raises(TypeError, match="does not reduce complex64"):
        samebits.sum(x.astype("complex64"), stream=1)
    with pytest.raises(ValueError, match="immutable"):
        samebits.sum(x, out=jax.numpy.zeros(()), stream=1)
