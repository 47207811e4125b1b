"""Tests of NumPy arrays, which need no GPU."""

import multiprocessing
import sys
import threading

import numpy
import pytest
import samebits
from conftest import bits, values

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int32", "uint32", "int64", "uint64"]
SMALL = ["int8", "uint8", "int16", "uint16", "bool"]


def test_the_bits_of_order_1():
    """The crate's tests check the same bits, in reduce/tests/order.rs."""
    assert samebits.ORDER == 1
    sizes = [35, 5000, 10_000, 30_000, 100_000, 600_000, 700_001, 1_400_003, 3_000_000, 17_000_001]
    given = [
        0x442BA320,
        0x49ECACBE,
        0x4A6C560D,
        0x4B31C5AB,
        0x4C144095,
        0x4D5E5BA2,
        0x4D81B514,
        0x4E01B5A8,
        0x4E8AF970,
        0x4FC4E27B,
    ]
    for n, expected in zip(sizes, given):
        assert bits(samebits.sum(values(n))) == expected, n


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_every_type_has_the_result_of_its_kind(name):
    x = values(10_001, name) if name != "float16" else (values(10_001) / 100).astype(name)
    result = numpy.dtype("float32" if name == "float16" else name)
    for function in (samebits.sum, samebits.min, samebits.max):
        assert type(function(x)) is result.type
    assert samebits.min(x) == x.min() and samebits.max(x) == x.max()
    if name in INTEGERS:
        with numpy.errstate(over="ignore"):
            assert samebits.sum(x) == numpy.add.reduce(x, dtype=name)
    else:
        exact = x.astype(numpy.float64).sum()
        assert samebits.sum(x) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("name", SMALL)
def test_small_integers_have_wide_results(name):
    x = (values(10_001) / 7).astype(name)
    for function, numpys in ((samebits.sum, numpy.sum), (samebits.min, numpy.min), (samebits.max, numpy.max)):
        result = function(x)
        assert type(result) is numpy.int64 and result == numpys(x.astype("int64"))


def test_operations_have_the_values_of_numpy():
    x = values(10_001)
    wide = x.astype("float64")
    for rows, axis in ((x, None), (x[:10_000].reshape(10, 1000), -1)):
        exact = rows.astype("float64")
        for function, expected in (
            (samebits.mean, exact.mean(axis=axis)),
            (samebits.sum_of_squares, (exact**2).sum(axis=axis)),
            (samebits.norm, numpy.sqrt((exact**2).sum(axis=axis))),
            (samebits.sum_of_magnitudes, abs(exact).sum(axis=axis)),
            (samebits.largest_magnitude, abs(exact).max(axis=axis)),
            (samebits.min, exact.min(axis=axis)),
        ):
            narrow, double = function(rows, axis), function(rows, axis, wide=True)
            assert narrow.dtype == numpy.float32 and double.dtype == numpy.float64
            assert narrow == pytest.approx(expected, rel=1e-4) and double == pytest.approx(expected, rel=1e-12)
    assert samebits.mean(x) == pytest.approx(wide.mean(), rel=1e-4)
    assert samebits.norm(numpy.array([3e30, 4e30], "float32")) == numpy.inf
    assert samebits.norm(numpy.array([3e30, 4e30], "float32"), wide=True) == pytest.approx(5e30, rel=1e-6)
    assert samebits.sum(numpy.full(3, 2**31 - 1, "int32"), wide=True) == 3 * (2**31 - 1)


def test_elements_that_are_not_zero_are_counted():
    x = numpy.array([[0.0, -0.0, numpy.nan], [1.0, 2.0, -3.0]], "float32")
    assert samebits.count_nonzero(x) == 4 and samebits.count_nonzero(x, -1).tolist() == [1, 3]
    assert samebits.any(x, -1).tolist() == [1, 1] and samebits.all(x, -1).tolist() == [0, 1]
    empty = numpy.zeros((2, 0), "uint8")
    assert samebits.all(empty, -1).tolist() == [1, 1] and samebits.any(empty) == 0
    assert samebits.max(empty, -1).tolist() == [0, 0] and samebits.min(empty, -1).tolist() == [255, 255]


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numpy.ones(1000, ml_dtypes.bfloat16)
    assert samebits.sum(x) == 1000 and samebits.sum(x).dtype == numpy.float32


def test_a_row_has_the_bits_that_it_has_alone():
    for n in (1, 3, 7, 100, 1000, 4097, 50_001):
        x = values(5 * n).reshape(5, n)
        sums = samebits.sum(x, axis=-1)
        assert sums.shape == (5,)
        for row, alone in zip(sums, x):
            assert bits(row) == bits(samebits.sum(alone))
        # Checks rows with a pitch, and arrays of more than two dimensions.
        wide = values(5 * (n + 3)).reshape(5, n + 3)[:, :n]
        expected = samebits.sum(numpy.ascontiguousarray(wide), axis=1)
        assert (bits(samebits.sum(wide, axis=-1)) == bits(expected)).all()
        deep = values(6 * n).reshape(2, 1, 3, n)
        assert (bits(samebits.sum(deep, axis=-1)).ravel() == bits(samebits.sum(deep.reshape(6, n), axis=-1))).all()


def test_nothing_has_a_result():
    empty = numpy.zeros(0, numpy.float32)
    assert (samebits.sum(empty), samebits.min(empty), samebits.max(empty)) == (0, numpy.inf, -numpy.inf)
    assert samebits.sum(numpy.zeros((3, 0)), axis=-1).tolist() == [0, 0, 0]
    assert samebits.sum(numpy.zeros((0, 3)), axis=-1).shape == (0,)
    assert samebits.sum(numpy.float64(7)) == 7


def test_nan_and_zeros():
    assert bits(samebits.sum(numpy.array([-numpy.nan], numpy.float32))) == 0x7FFFFFFF
    assert samebits.min(numpy.array([numpy.nan, 2.0, 1.0])) == 1.0
    assert numpy.signbit(samebits.min(numpy.array([0.0, -0.0])))


def test_out():
    x = values(3000).reshape(3, 1000)
    out = numpy.full(3, numpy.nan, numpy.float32)
    assert samebits.sum(x, axis=-1, out=out) is out
    assert (bits(out) == bits(samebits.sum(x, axis=-1))).all()
    out = numpy.zeros((), numpy.float32)
    samebits.max(x, out=out)
    assert out == x.max()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: samebits.sum([1.0, 2.0]), TypeError, "not list"),
        (lambda x: samebits.sum(x.astype(complex)), TypeError, "does not reduce complex128"),
        (lambda x: samebits.sum(x.astype("timedelta64[s]")), TypeError, "does not reduce timedelta64"),
        (lambda x: samebits.sum(x.astype(">f4")), TypeError, "byte order"),
        (lambda x: samebits.sum(numpy.ma.masked_less(x, 0)), TypeError, "no masked"),
        (lambda x: samebits.sum(x.T), ValueError, "not contiguous"),
        (lambda x: samebits.sum(x[:, ::2]), ValueError, "not contiguous"),
        (lambda x: samebits.sum(x[:, ::2], axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(x[0, ::2], axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(x[::-1], axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(numpy.broadcast_to(x[0], (4, 100)), axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(x, axis=2), ValueError, "axis is 2, but the array has 2 axes"),
        (lambda x: samebits.norm(x.astype("int32")), TypeError, "only for float32"),
        (lambda x: samebits.sum(x.astype("float64"), wide=True), TypeError, "wide=True is for"),
        (lambda x: samebits.sum(x[0, 0], axis=-1), ValueError, "has no axes"),
        (lambda x: samebits.sum(x, stream=1), ValueError, "omit stream"),
        (lambda x: samebits.sum(x, out=numpy.zeros(2, numpy.float32)), ValueError, "out has shape (2,)"),
        (lambda x: samebits.sum(x, out=numpy.zeros(())), ValueError, "type float64"),
        (lambda x: samebits.sum(x, out=[0]), TypeError, "out is a list"),
        (lambda x: samebits.sum(x, out=_read_only()), ValueError, "read-only"),
        (lambda x: samebits.sum(_misaligned()), ValueError, "not aligned"),
    ],
)
def test_what_cannot_be_reduced(call, error, words):
    with pytest.raises(error) as raised:
        call(values(1000).reshape(10, 100))
    assert words in str(raised.value)


def _read_only():
    out = numpy.zeros((), numpy.float32)
    out.flags.writeable = False
    return out


def _misaligned():
    return numpy.frombuffer(bytes(401), numpy.float32, 100, 1)


class Interface:
    """A GPU array that supports only the protocol."""

    def __init__(self, **changes):
        whole = {"shape": (4, 100), "typestr": "<f4", "data": (256, False), "version": 3}
        self.__cuda_array_interface__ = {**whole, **changes}

    # samebits looks for the protocol in the type.
    __cuda_array_interface__ = None


@pytest.mark.parametrize(
    ("changes", "stream", "error", "words"),
    [
        ({}, None, ValueError, "pass stream="),
        ({"typestr": "<c8"}, 1, TypeError, "does not reduce complex64"),
        ({"typestr": "<f16"}, 1, TypeError, "does not reduce float128"),
        ({"typestr": ">f4"}, 1, TypeError, "byte order"),
        ({"strides": (401, 4)}, 1, ValueError, "not multiples of the element size"),
        ({"strides": (4, 16)}, 1, ValueError, "not contiguous"),
        ({"stream": 0}, 1, ValueError, "stream is 0"),
    ],
)
def test_gpu_arrays_that_cannot_be_reduced(changes, stream, error, words):
    """The errors are found before any call to the driver."""
    with pytest.raises(error) as raised:
        samebits.sum(Interface(**changes), stream=stream)
    assert words in str(raised.value)


def test_out_is_not_an_immutable_array():
    """JAX does not export its arrays as read-only, although they are."""
    immutable = type("ArrayImpl", (Interface,), {"__module__": "jaxlib._jax"})
    with pytest.raises(ValueError, match="out is a JAX array, which is immutable"):
        samebits.sum(Interface(), out=immutable(shape=()), stream=1)


def test_arrays_of_other_hosts_come_by_dlpack():
    class Lent:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **kwargs):
            return self.x.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = values(5000)
    assert bits(samebits.sum(Lent(x))) == bits(samebits.sum(x))


def test_arrays_of_other_devices_are_refused():
    class Lent:
        def __dlpack__(self, **kwargs):
            raise AssertionError("the array is not borrowed")

        def __dlpack_device__(self):
            return (10, 0)  # ROCm

    with pytest.raises(ValueError, match="a device of DLPack's type 10: samebits supports CUDA"):
        samebits.sum(Lent(), stream=1)


def test_threads_run_beside_each_other():
    """The interpreter's lock is released, so one thread counts while another adds."""
    x, counted, done = values(1 << 24), [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(5):
        samebits.sum(x)
    done.set()
    thread.join()
    assert counted[0] > 100


def _child(queue):
    queue.put(int(bits(samebits.sum(values(1_400_003)))))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_adds_too():
    """A forked process can compute a sum, although it has none of its parent's threads."""
    expected = int(bits(samebits.sum(values(1_400_003))))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join()
    assert child.exitcode == 0


def test_there_is_a_sentence_without_a_driver():
    if samebits.is_available():
        pytest.skip("there is a driver")
    from samebits._samebits import reduce_into

    with pytest.raises(samebits.CudaError, match="no CUDA driver"):
        reduce_into(0, 0, 0, 0, 16, 0, 0)
    samebits.close()
