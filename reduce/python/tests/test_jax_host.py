"""Tests of JAX arrays on the host, which need no GPU."""

import samebits
from conftest import bits, framework, values

jax = framework("jax")


def test_arrays_on_the_host():
    x = values(10_001)
    with jax.default_device(jax.devices("cpu")[0]):
        assert bits(samebits.sum(jax.numpy.asarray(x))) == bits(samebits.sum(x))
