"""Data that is sensitive to rounding, and checks for frameworks and GPUs. Skipped tests print the reason."""

import importlib
import os

import numpy
import pytest


def values(n, dtype=numpy.float32):
    """Returns numbers whose sum depends on the order of the additions."""
    drawn = (numpy.arange(n, dtype=numpy.uint32) * numpy.uint32(2654435761)) >> numpy.uint32(8)
    if numpy.dtype(dtype).kind in "iu":
        return (drawn.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)).astype(dtype)
    return (drawn.astype(numpy.float32) * numpy.float32(0.001) - numpy.float32(8000)).astype(dtype)


def bits(x):
    """Returns the bits of a NumPy scalar or array, as unsigned integers."""
    x = numpy.asarray(x)
    return x.view({4: numpy.uint32, 8: numpy.uint64}[x.dtype.itemsize])


def framework(name):
    """Imports a framework. If it is missing, the module is skipped, or fails if SAMEBITS_REQUIRE_GPU is set."""
    required = bool(os.environ.get("SAMEBITS_REQUIRE_GPU"))
    if not required:
        return pytest.importorskip(name)
    return importlib.import_module(name)


def needs_gpu(has):
    if not has:
        assert not os.environ.get("SAMEBITS_REQUIRE_GPU"), "a GPU is required"
        pytest.skip("there is no GPU", allow_module_level=True)
