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
