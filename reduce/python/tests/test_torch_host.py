"""Tests of torch tensors on the host, which need no GPU."""

import pytest
import samebits
from conftest import bits, framework, values

torch = framework("torch")


def bits_of(tensor):
    return bits(tensor.detach().numpy())


def test_tensors_on_the_host():
    x = values(10_001)
    assert bits_of(samebits.sum(torch.from_numpy(x))) == bits(samebits.sum(x))
    rows = torch.from_numpy(x[:10_000]).reshape(10, 1000)
    assert (bits_of(samebits.sum(rows, -1)) == bits(samebits.sum(rows.numpy(), -1))).all()
    assert samebits.sum(torch.ones(10, dtype=torch.bfloat16)).dtype is torch.float32


def test_exact_sums_on_the_host():
    x = values(10_000)
    tensor = torch.from_numpy(x)
    assert bits_of(samebits.exact_sum(tensor)) == bits(samebits.exact_sum(x))
    rows = samebits.exact_sum(tensor.reshape(10, 1000), -1)
    assert (bits_of(rows) == bits(samebits.exact_sum(x.reshape(10, 1000), -1))).all()
    assert bits_of(samebits.exact_dot(tensor, tensor)) == bits(samebits.exact_dot(x, x))
    weights = torch.ones(5, dtype=torch.float64, requires_grad=True)
    samebits.exact_sum(weights).backward()
    assert (weights.grad == 1).all()
    with pytest.raises(NotImplementedError, match="no gradient"):
        samebits.exact_dot(weights, weights)
    with pytest.raises(TypeError, match="not of int64"):
        samebits.exact_sum(torch.arange(5))
    with pytest.raises(ValueError, match="one shape and type"):
        samebits.exact_dot(tensor, tensor[1:])


def test_gradients_on_the_host():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    (samebits.sum(x) * 3).backward()
    assert (x.grad == 3).all()
    x.grad = None
    weights = torch.arange(5, dtype=torch.float64)
    (samebits.sum(x, axis=-1) * weights).sum().backward()
    assert (x.grad == weights[:, None]).all()
    with pytest.raises(NotImplementedError, match="no gradient"):
        samebits.max(x)
    assert torch.autograd.gradcheck(lambda x: samebits.sum(x, axis=-1), (x,))
    torch.library.opcheck(torch.ops.samebits.sum, (torch.randn(3, 4), True))


def test_views_that_negate_their_elements():
    """The imaginary part of a conjugate holds the elements with the opposite sign."""
    z = torch.tensor([[1 + 2j], [3 + 4j]])
    assert samebits.sum(z.conj().imag, -1).tolist() == samebits.exact_sum(z.conj().imag, -1).tolist() == [-2, -4]
    assert samebits.sum(z[:1].conj().imag) == samebits.max(z[:1].conj().imag) == -2
    one = z[0].conj().imag
    assert samebits.exact_dot(one, torch.ones(1)) == -2
    with pytest.raises(ValueError, match="negates its elements"):
        samebits.sum(torch.ones(5), out=torch.zeros(1, dtype=torch.complex64).conj().imag[0])


def test_transforms():
    x = torch.randn(3, 4, 5)
    assert torch.equal(torch.vmap(samebits.sum)(x), samebits.sum(x.reshape(3, 20), -1))
    rows = torch.vmap(lambda x: samebits.sum(x, axis=-1), in_dims=1)(x)
    assert torch.equal(rows, samebits.sum(x.movedim(1, 0).contiguous(), axis=-1))
    assert torch.equal(torch.vmap(torch.vmap(samebits.exact_sum))(x), samebits.exact_sum(x, -1))
    assert torch.equal(torch.func.grad(lambda x: samebits.sum(x * x))(x), 2 * x)
    total, tangent = torch.func.jvp(samebits.sum, (x,), (2 * x,))
    assert torch.equal(total, samebits.sum(x)) and torch.equal(tangent, samebits.sum(2 * x))
    with torch.autograd.forward_ad.dual_level():
        dual = samebits.sum(torch.autograd.forward_ad.make_dual(x, 2 * x), axis=-1)
        tangent = torch.autograd.forward_ad.unpack_dual(dual).tangent
        assert torch.equal(tangent, samebits.sum(2 * x, axis=-1))
    hessian = torch.func.hessian(lambda x: samebits.sum(x * x * x))(torch.tensor([1.0, 2.0, 3.0]))
    assert torch.equal(hessian, torch.diag(torch.tensor([6.0, 12.0, 18.0])))
    with pytest.raises(NotImplementedError, match="torch.func"):
        torch.vmap(samebits.max)(x)


def test_tensors_without_memory():
    """These tensors have a shape, but no elements at an address."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        sums = samebits.sum(torch.ones(3, 4), axis=-1)
        assert sums.shape == (3,) and samebits.max(torch.ones(5, dtype=torch.float16)).dtype is torch.float32
        with pytest.raises(NotImplementedError, match="FakeTensorMode"):
            samebits.exact_dot(torch.ones(5), torch.ones(5))
        with pytest.raises(TypeError, match="does not reduce complex64"):
            samebits.sum(torch.ones(5, dtype=torch.complex64))
    outside = FakeTensorMode().from_tensor(torch.ones(3, 4))
    assert samebits.sum(outside).shape == () and samebits.exact_sum(outside, axis=-1).shape == (3,)
    assert "samebits.sum" in make_fx(lambda x: samebits.sum(x))(torch.ones(5)).code
    with pytest.raises(TypeError, match="nested"):
        samebits.sum(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))


def test_compile_keeps_the_operator():
    graphs = []

    def keep(module, _):
        graphs.append(module)
        return module

    @torch.compile(backend=keep, fullgraph=True)
    def f(x):
        return samebits.sum(x * 2, axis=-1) + 1, samebits.max(x)

    x = torch.randn(8, 1000)
    sums, largest = f(x)
    assert torch.equal(sums, samebits.sum(x * 2, axis=-1) + 1) and torch.equal(largest, x.max())
    names = [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert any("samebits.sum" in name for name in names), names
