"""Tests of JAX arrays on the host, which need no GPU."""

import pytest
import samebits
from conftest import bits, framework, values

jax = framework("jax")


def test_arrays_on_the_host():
    x = values(10_001)
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        result = samebits.sum(jax.numpy.asarray(x))
        assert bits(result) == bits(samebits.sum(x)) and result.devices() == {cpu}
        halves = jax.numpy.ones((3, 100), "bfloat16")
        sums = samebits.sum(halves, axis=-1)
        assert isinstance(sums, jax.Array) and sums.dtype == "float32" and sums.tolist() == [100] * 3
        with pytest.raises(ValueError, match="omit stream"):
            samebits.sum(halves, stream=1)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
def test_traced_arrays(transform):
    with jax.default_device(jax.devices("cpu")[0]), pytest.raises(TypeError, match="outside of them"):
        transform(samebits.sum)(jax.numpy.ones((3, 4)))
