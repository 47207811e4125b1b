"""Indices, both extremes and dot products of NumPy arrays and torch tensors on the host."""

import numpy
import pytest

import samebits

TYPES = ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


def drawn(name, shape):
    values = numpy.random.default_rng(7).integers(0, 100, shape)
    return values.astype(name)


@pytest.mark.parametrize("name", TYPES)
def test_indices_are_numpys(name):
    x = drawn(name, (5, 1000))
    assert samebits.argmin(x) == x.argmin() and samebits.argmax(x) == x.argmax()
    for found, expected in ((samebits.argmin(x, axis=-1), x.argmin(-1)), (samebits.argmax(x[:, :77], axis=-1), x[:, :77].argmax(-1))):
        assert found.dtype == numpy.int64 and (found == expected).all()


@pytest.mark.parametrize("name", TYPES)
def test_extremes_are_those_of_two_calls(name):
    x = drawn(name, (5, 1000))
    low, high = samebits.min_max(x)
    assert (low, high) == (samebits.min(x), samebits.max(x)) and low.dtype == samebits.min(x).dtype
    low, high = samebits.min_max(x, axis=-1)
    assert (low == samebits.min(x, axis=-1)).all() and (high == samebits.max(x, axis=-1)).all()


def test_nan_is_ignored_and_ties_have_the_lowest_index():
    x = numpy.array([numpy.nan, 3, 1, 1, 3], numpy.float32)
    assert (samebits.argmin(x), samebits.argmax(x)) == (2, 1)
    assert samebits.argmax(numpy.full(9, numpy.nan)) == 0
    assert samebits.argmax(numpy.array([-0.0, 0.0])) == 1


def test_no_elements():
    empty = numpy.zeros((3, 0), numpy.float32)
    for call in (lambda: samebits.argmin(empty), lambda: samebits.argmax(empty, axis=-1)):
        with pytest.raises(ValueError, match="no elements"):
            call()
    low, high = samebits.min_max(empty, axis=-1)
    assert (low == numpy.inf).all() and (high == -numpy.inf).all()
    assert samebits.argmax(numpy.zeros((0, 3)), axis=-1).shape == (0,)


@pytest.mark.parametrize("name", ("float16", "float32", "float64", "int32", "uint32", "int64", "uint64"))
def test_dot_products(name):
    a, b = drawn(name, 5000), drawn(name, 5000)[::-1].copy()
    found = samebits.dot(a, b)
    exact = int((a.astype(numpy.int64) * b.astype(numpy.int64)).sum())
    assert abs(float(found) - exact) <= 1e-6 * exact
    assert found.dtype == samebits.sum(a).dtype
    if a.dtype.kind == "f":
        assert samebits.dot(a, a) == samebits.sum_of_squares(a)
        assert samebits.dot(a, numpy.ones_like(a)) == samebits.sum(a)
    if name in ("float32", "int32", "uint32"):
        assert samebits.dot(a, b, wide=True) == exact


def test_bad_arrays_are_errors():
    a = numpy.ones(4, numpy.float32)
    for b, words in ((numpy.ones(5, numpy.float32), "one shape"), (numpy.ones(4), "one shape")):
        with pytest.raises(ValueError, match=words):
            samebits.dot(a, b)
    with pytest.raises(TypeError, match="uint8"):
        samebits.dot(a.astype("u1"), a.astype("u1"))
    with pytest.raises(TypeError, match="wide=True"):
        samebits.dot(a.astype("f8"), a.astype("f8"), wide=True)
    with pytest.raises(TypeError, match="samebits.argmin takes"):
        samebits.argmin([1, 2])
    with pytest.raises(ValueError, match="axis"):
        samebits.min_max(a.reshape(2, 2), axis=0)


def test_every_axis():
    x = numpy.random.default_rng(3).standard_normal((4, 70, 5, 6)).astype(numpy.float32)
    for axis in (0, 1, 2, -2, -4):
        found = samebits.sum(x, axis=axis)
        moved = numpy.ascontiguousarray(numpy.moveaxis(x, axis, -1))
        assert found.dtype == numpy.float32 and (found == samebits.sum(moved, axis=-1)).all()
        assert (samebits.max(x, axis=axis) == x.max(axis)).all()
    out = numpy.zeros((4, 5, 6), numpy.float32)
    assert samebits.sum(x, axis=1, out=out) is out and (out == samebits.sum(x, axis=1)).all()
    matrix = x.reshape(280, 30)[:, :7]
    assert (samebits.sum(matrix, axis=0) == samebits.sum(matrix.T.copy(), axis=-1)).all()
    assert (samebits.count_nonzero(x > 0, axis=0) == (x > 0).sum(0)).all()
    assert (samebits.sum(numpy.zeros((0, 3)), axis=0) == 0).all() and samebits.sum(numpy.zeros((3, 0, 2)), axis=0).shape == (0, 2)
    with pytest.raises(ValueError, match="axis is 4, but the array has 4 axes"):
        samebits.sum(x, axis=4)
    with pytest.raises(ValueError, match="only the last"):
        samebits.exact_sum(x, axis=0)
    with pytest.raises(ValueError, match="out has shape"):
        samebits.sum(x, axis=0, out=out)
    with pytest.raises(ValueError, match="not contiguous"):
        samebits.sum(x[:, :, ::2], axis=0)


def test_lists():
    arrays = [drawn("float32", n) for n in (3, 0, 700, 20001)]
    each, total = samebits.foreach(arrays)
    assert all(found == samebits.norm(x) for found, x in zip(each, arrays))
    assert abs(total - numpy.linalg.norm(numpy.concatenate(arrays))) < 1e-2
    each, total = samebits.foreach(arrays, "sum", wide=True)
    assert each.dtype == numpy.float64 and total == sum(x.sum() for x in arrays)
    for call, words in (
        (lambda: samebits.foreach([]), "no arrays"),
        (lambda: samebits.foreach(arrays, "median"), "operation is 'median'"),
        (lambda: samebits.foreach([arrays[0], arrays[0].astype("f8")]), "one framework, device and type"),
        (lambda: samebits.foreach([arrays[3][::2]]), "not contiguous"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_ragged_rows():
    x = drawn("float32", 30000)
    offsets = numpy.array([0, 3, 3, 700, 29999, 30000])
    found = samebits.ragged(x, offsets)
    assert all(sums == samebits.sum(x[a:b]) for sums, a, b in zip(found, offsets, offsets[1:]))
    assert (samebits.ragged(x, offsets, "max")[[0, 2]] == [x[:3].max(), x[3:700].max()]).all()
    assert samebits.ragged(x, offsets[:1]).shape == (0,)
    for bad, words in (([0, 5, 3], "row 1 has offsets 5 to 3"), ([0, 30001], "0 to 30001"), ([], "offsets have type")):
        with pytest.raises(ValueError, match=words):
            samebits.ragged(x, numpy.array(bad, numpy.int64))
    with pytest.raises(ValueError, match="offsets have type float64"):
        samebits.ragged(x, offsets.astype("f8"))


def test_torch_on_the_host():
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 500)
    assert torch.equal(samebits.argmax(x, axis=-1), x.argmax(-1))
    low, high = samebits.min_max(x.bfloat16())
    assert low == x.bfloat16().min() and high == x.bfloat16().max()
    assert samebits.dot(x, x) == samebits.sum_of_squares(x)
    with pytest.raises(NotImplementedError, match="gradient"):
        samebits.argmax(x.requires_grad_())


@pytest.mark.parametrize("name", ("float16", "float32", "float64"))
def test_moments_are_numpys(name):
    x = (numpy.random.default_rng(5).standard_normal((6, 3000)) + 100).astype(name)
    for ddof in (0, 1):
        means, variances = samebits.moments(x, axis=-1, ddof=ddof)
        wide = x.astype(numpy.float64)
        tolerance = 1e-12 if name == "float64" else 1e-6
        assert means.dtype == samebits.sum(x).dtype
        assert numpy.allclose(means, wide.mean(-1), rtol=tolerance) and numpy.allclose(variances, wide.var(-1, ddof=ddof), rtol=tolerance)
        mean, variance = samebits.moments(x[2], ddof=ddof)
        assert (mean, variance) == (means[2], variances[2])
    assert all(numpy.isnan(value) for value in samebits.moments(numpy.zeros(0, name)))
    with pytest.raises(TypeError, match="only for"):
        samebits.moments(numpy.ones(3, numpy.int32))
    with pytest.raises(ValueError, match="ddof"):
        samebits.moments(x, ddof=-1)


@pytest.mark.parametrize("name", ("float16", "float32", "float64"))
def test_log_sum_exp_is_numpys(name):
    x = (numpy.random.default_rng(5).standard_normal((6, 3000)) * 5).astype(name)
    found = samebits.log_sum_exp(x, axis=-1)
    expected = numpy.logaddexp.reduce(x.astype(numpy.float64), axis=-1)
    assert found.dtype == samebits.sum(x).dtype and found.shape == (6,)
    assert numpy.allclose(found, expected, rtol=0, atol=1e-11 if name == "float64" else 2e-6)
    assert samebits.log_sum_exp(x[2]) == found[2]
    large = numpy.full(1000, numpy.finfo(name).max, name)
    assert samebits.log_sum_exp(large) == pytest.approx(float(large[0]), rel=1e-3)
    assert samebits.log_sum_exp(numpy.zeros(0, name)) == -numpy.inf
    assert (samebits.log_sum_exp(numpy.zeros((2, 0), name), axis=-1) == -numpy.inf).all()
    assert samebits.log_sum_exp(numpy.zeros((0, 2), name), axis=-1).shape == (0,)
    x[1, 5], x[3, 7] = numpy.nan, numpy.inf
    found = samebits.log_sum_exp(x, axis=-1)
    assert numpy.isnan(found[1]) and found[3] == numpy.inf and numpy.isfinite(found[[0, 2, 4, 5]]).all()
    with pytest.raises(TypeError, match="samebits.log_sum_exp is only for"):
        samebits.log_sum_exp(numpy.ones(3, numpy.int32))
