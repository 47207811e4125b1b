"""Exact sums and dot products of NumPy arrays, without a GPU."""

import fractions
import math
import pickle

import numpy
import pytest
import samebits
from conftest import bits, values

FLOATS = ["float16", "float32", "float64"]


def drawn(n, name, seed=1):
    """Returns floats of many exponents and both signs."""
    rng = numpy.random.default_rng(seed)
    wide = 4 if name == "float16" else 30
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-wide, wide, n)).astype(name)


def rounded(exact, name):
    """Returns a fraction as a float of the type of a sum. No double lies on a tie of two floats here."""
    return numpy.dtype("float64" if name == "float64" else "float32").type(float(exact))


@pytest.mark.parametrize("name", FLOATS)
def test_a_sum_is_rounded_once_in_any_order(name):
    for n in (0, 1, 5, 1000, 70_001):
        x = drawn(n, name)
        exact = math.fsum(x.tolist())
        found = samebits.exact_sum(x)
        assert found.dtype == numpy.dtype("float64" if name == "float64" else "float32")
        assert bits(found) == bits(rounded(exact, name))
        assert bits(samebits.exact_sum(x[::-1].copy())) == bits(found)


def test_special_values():
    assert samebits.exact_sum(numpy.array([1e300, 1.0, -1e300])) == 1
    assert bits(samebits.exact_sum(numpy.array([-0.0]))) == 1 << 63
    assert bits(samebits.exact_sum(numpy.array([numpy.inf, -numpy.inf], numpy.float32))) == 0x7FFFFFFF


def test_rows_are_sums():
    x = drawn(6000, "float32").reshape(3, 20, 100)[:, :, :97]
    found = samebits.exact_sum(x, axis=-1)
    assert found.shape == (3, 20)
    for row, expected in zip(x.reshape(60, 97), found.reshape(60)):
        assert bits(samebits.exact_sum(row.copy())) == bits(expected)
    out = numpy.empty((3, 20), numpy.float32)
    assert samebits.exact_sum(x, axis=-1, out=out) is out
    assert (bits(out) == bits(found)).all()
    assert samebits.exact_sum(x[:, :, :0], axis=-1).tolist() == [[0.0] * 20] * 3


@pytest.mark.parametrize("name", FLOATS)
def test_a_dot_product_is_rounded_once(name):
    for n in (0, 1, 7, 3000):
        a, b = drawn(n, name), drawn(n, name, seed=2)
        exact = sum(fractions.Fraction(float(x)) * fractions.Fraction(float(y)) for x, y in zip(a, b))
        found = samebits.exact_dot(a, b)
        assert bits(found) == bits(rounded(exact, name)), n


@pytest.mark.parametrize("name", FLOATS)
def test_a_norm_is_rounded_once(name):
    x = drawn(1000, name)
    wide = samebits.ExactAccumulator("float64")
    wide.add_products(x.astype(numpy.float64), x.astype(numpy.float64))
    found = samebits.exact_norm(x)
    assert bits(found) == bits(rounded(wide.round_sqrt(), name))
    assert found.dtype == samebits.exact_dot(x, x).dtype
    assert samebits.exact_norm(numpy.array([3e200, 0.0])) == 3e200


@pytest.mark.parametrize("name", FLOATS)
def test_accumulators_in_any_order_have_the_bits_of_one_call(name):
    x = drawn(5000, name)
    kind = "float64" if name == "float64" else "float32"
    parts = [samebits.ExactAccumulator(kind) for _ in range(3)]
    for k, part in enumerate(parts):
        part.add(x[k * 2000 : (k + 1) * 2000])
    total = pickle.loads(pickle.dumps(parts[2]))
    assert total == parts[2] and total.dtype == kind
    total.merge(samebits.ExactAccumulator.from_bytes(parts[0].to_bytes()))
    total.merge(parts[1])
    assert total.count == 5000 and total.round() == samebits.exact_sum(x)
    whole = samebits.ExactAccumulator(kind)
    whole.add(x[::-1].copy())
    assert whole == total and whole != parts[0]
    whole.merge(whole)
    assert whole.count == 10_000 and whole.round() == 2 * total.round()


def test_accumulators_refuse_what_does_not_fit():
    x, total = numpy.ones(4), samebits.ExactAccumulator()
    for call, error, words in [
        (lambda: total.add(x), TypeError, "ExactAccumulator('float64')"),
        (lambda: total.add([1.0]), TypeError, "not list"),
        (lambda: total.add_products(x, x[1:]), ValueError, "of one shape"),
        (lambda: total.merge(samebits.ExactAccumulator("float64")), TypeError, "one accumulator is float32"),
        (lambda: total.merge(x), TypeError, "use add"),
        (lambda: samebits.ExactAccumulator("int32"), ValueError, "not int32"),
        (lambda: samebits.ExactAccumulator.from_bytes(b"1234"), ValueError, "4 bytes"),
        (lambda: samebits.exact_norm(x.astype(int)), TypeError, "not of int64"),
    ]:
        with pytest.raises(error) as found:
            call()
        assert words in str(found.value)
    assert total.count == 0 and bits(numpy.float32(total.round())) == 0


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numpy.full(300, 3, ml_dtypes.bfloat16)
    assert samebits.exact_sum(x) == 900 and samebits.exact_dot(x, x) == 2700


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: samebits.exact_sum(x.astype(numpy.int32)), TypeError, "not of int32"),
        (lambda x: samebits.exact_sum(x, stream=1), ValueError, "omit stream"),
        (lambda x: samebits.exact_sum([1.0]), TypeError, "not list"),
        (lambda x: samebits.exact_sum(x[::2]), ValueError, "not contiguous"),
        (lambda x: samebits.exact_dot(x, x[1:]), ValueError, "the first has (100,) and float32, the second (99,) and float32"),
        (lambda x: samebits.exact_dot(x, x.astype(numpy.float64)), ValueError, "float64"),
        (lambda x: samebits.exact_dot(x, [1.0]), TypeError, "the second array is a list"),
        (lambda x: samebits.exact_dot([1.0], x), TypeError, "not list"),
        (lambda x: samebits.exact_dot(x[::2], x[::2]), ValueError, "not contiguous"),
        (lambda x: samebits.exact_dot(x.astype(int), x.astype(int)), TypeError, "not of int64"),
    ],
)
def test_what_cannot_be_added_is_an_error(call, error, words):
    with pytest.raises(error) as raised:
        call(values(100))
    assert words in str(raised.value)
