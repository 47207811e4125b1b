"""Tests of torch tensors on a GPU."""

import numpy
import pytest
import samebits
from conftest import bits, framework, needs_gpu, values

torch = framework("torch")

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int32, torch.int64]
SIZES = [0, 1, 1000, 10_001, 30_001, 120_000, 1_400_003]


def of(x, device, dtype=torch.float32):
    return torch.from_numpy(x).to(device).to(dtype)


def bits_of(tensor):
    """Returns the bits of a tensor, after copying it to the host."""
    return bits(tensor.detach().cpu().numpy())


def on_the_host(tensor, function, axis=None):
    """Returns the bits of the result on the host, which reduces tensors on the CPU."""
    return bits_of(function(tensor.cpu(), axis))


needs_gpu(torch.cuda.is_available())


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_every_type_has_the_bits_of_the_host(dtype):
    for n in SIZES:
        x = of(values(n + 1) / 100, "cuda", dtype)
        for begin in (0, 1):
            view = x[begin : begin + n]
            for function in (samebits.sum, samebits.min, samebits.max):
                result = function(view)
                assert result.shape == () and result.device == x.device
                assert bits_of(result) == on_the_host(view, function), (n, begin, function)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_sums_have_the_bits_of_the_host(dtype):
    for n in SIZES:
        x = of(values(n + 1) / 100, "cuda", dtype)
        for view in (x[:n], x[1:]):
            assert bits_of(samebits.exact_sum(view)) == on_the_host(view, samebits.exact_sum), n
            expected = samebits.exact_dot(view.cpu(), view.cpu())
            assert bits_of(samebits.exact_dot(view, view)) == bits_of(expected), n
    rows = of(values(33 * 100), "cuda", dtype).reshape(33, 100)[:, :97]
    assert (bits_of(samebits.exact_sum(rows, -1)) == on_the_host(rows, samebits.exact_sum, -1)).all()


def test_rows():
    for rows, n in [(33, 7), (1000, 300), (5, 20_001), (3, 400_001), (1, 100), (4, 0), (0, 4)]:
        x = of(values(rows * (n + 3)), "cuda").reshape(rows, n + 3)
        for view in (x[:, :n], x[:, :n].contiguous(), x[:, 3:]):
            sums = samebits.sum(view, axis=-1)
            assert sums.shape == (rows,)
            assert (bits_of(sums) == on_the_host(view, samebits.sum, -1)).all(), (rows, n)
    deep = of(values(2 * 3 * 50), "cuda").reshape(2, 3, 50)
    assert samebits.sum(deep, axis=2).shape == (2, 3)


def test_a_row_has_the_same_bits_in_every_batch():
    for n in (100, 4096, 100_003):
        row = of(values(n), "cuda")
        alone = int(bits_of(samebits.sum(row)))
        for batch in (1, 2, 7, 64, 257):
            x = torch.randn(batch, n, device="cuda")
            x[batch // 2] = row
            assert int(bits_of(samebits.sum(x, axis=-1))[batch // 2]) == alone


def test_the_current_stream_is_used_and_nothing_waits():
    x = torch.ones(1 << 24, device="cuda")
    samebits.sum(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        # The stream is still writing the data, so the sum is correct only if the call runs in
        # stream order.
        torch.cuda._sleep(200_000_000)
        x.fill_(2.0)
        start.record()
        result = samebits.sum(x)
        end.record()
        assert not start.query(), "the call has waited for the stream"
    stream.synchronize()
    assert result.item() == 2.0 * (1 << 24)


def test_threads_and_streams():
    import threading

    x = of(values(1_400_003), "cuda")
    expected = int(on_the_host(x, samebits.sum))
    wrong = []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                if int(bits_of(samebits.sum(x))) != expected:
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_capture():
    for n in SIZES[1:]:
        x = of(values(n), "cuda")
        rows = x[: n // 10 * 10].reshape(10, -1)
        # The first call with these shapes is captured.
        samebits.close()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total, sums = samebits.sum(x), samebits.sum(rows, axis=-1)
        for scale in (1.0, -3.0):
            x.copy_(of(values(n), "cuda") * scale)
            graph.replay()
            assert bits_of(total) == on_the_host(x, samebits.sum)
            assert (bits_of(sums) == on_the_host(rows, samebits.sum, -1)).all()


def test_compile_keeps_the_operator():
    graphs = []

    def keep(module, _):
        graphs.append(module)
        return module

    @torch.compile(backend=keep, fullgraph=True)
    def f(x):
        return samebits.sum(x * 2, axis=-1) + 1, samebits.max(x)

    x = torch.randn(8, 1000, device="cuda")
    sums, largest = f(x)
    assert torch.equal(sums, samebits.sum(x * 2, axis=-1) + 1) and torch.equal(largest, x.max())
    names = [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert any("samebits.sum" in name for name in names), names


def test_compiled_gradients():
    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(x):
        return samebits.sum(x * x)

    x = torch.randn(1000, device="cuda", requires_grad=True)
    f(x).backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_out():
    x = of(values(3000), "cuda").reshape(3, 1000)
    out = torch.empty(3, device="cuda")
    assert samebits.sum(x, axis=-1, out=out) is out
    assert (bits_of(out) == on_the_host(x, samebits.sum, -1)).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: samebits.sum(x.T), ValueError, "not contiguous"),
        (lambda x: samebits.sum(x[:, ::2], axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(x[:1].expand(5, 100), axis=-1), ValueError, "evenly spaced"),
        (lambda x: samebits.sum(x.to(torch.complex64)), TypeError, "does not reduce complex64"),
        (lambda x: samebits.sum(x.to_sparse()), TypeError, "to_dense"),
        (lambda x: samebits.sum(x.to("meta")), ValueError, "on meta"),
        (lambda x: samebits.sum(x, axis=2), ValueError, "axis is 2, but the array has 2 axes"),
        (lambda x: samebits.sum(x, stream=1), ValueError, "torch.cuda.stream"),
        (lambda x: samebits.sum(x, out=torch.empty(())), ValueError, "out is on cpu"),
        (lambda x: samebits.sum(x, out=torch.empty(2, device="cuda")), ValueError, "out has shape (2,)"),
        (lambda x: samebits.sum(x, out=torch.empty((), device="cuda", dtype=torch.float64)), ValueError, "float64"),
        (lambda x: samebits.sum(x, out=numpy.zeros(())), TypeError, "out is a ndarray"),
        (lambda x: samebits.norm(x.int()), TypeError, "only for float32"),
    ],
)
def test_what_cannot_be_reduced(call, error, words):
    x = torch.randn(10, 100, device="cuda")
    with pytest.raises(error) as raised:
        call(x)
    assert words in str(raised.value)
    # An error does not affect later calls.
    assert bits_of(samebits.sum(x)) == on_the_host(x, samebits.sum)


def test_bad_addresses_are_errors():
    from samebits._samebits import reduce_into, reduce_rows_into

    x = torch.ones(100, device="cuda")
    for arguments, words in [
        ((0, 0, 0, 5, x.data_ptr(), 0, 0), "input is a null pointer"),
        ((0, 0, x.data_ptr(), 5, 0, 0, 0), "output is a null pointer"),
        ((0, 0, x.data_ptr() + 1, 5, x.data_ptr(), 0, 0), "not a multiple of"),
        ((0, 0, x.data_ptr(), 2**63, x.data_ptr(), 0, 0), "exceed the"),
        ((0, 0, x.data_ptr(), 5, x.data_ptr(), 99, 0), "no CUDA device 99"),
    ]:
        with pytest.raises((ValueError, samebits.CudaError), match=words):
            reduce_into(*arguments)
    with pytest.raises(ValueError, match="the pitch must be at least"):
        reduce_rows_into(0, 0, x.data_ptr(), 2, 4, 3, x.data_ptr(), 0, 0)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_two_devices():
    for device in (1, 0):
        x = of(values(1_400_003), f"cuda:{device}")
        result = samebits.sum(x)
        assert result.device == x.device and bits_of(result) == on_the_host(x, samebits.sum)
    assert torch.cuda.current_device() == 0
    out = torch.empty((), device="cuda:0")
    with pytest.raises(ValueError, match="out is on cuda:0"):
        samebits.sum(x.to("cuda:1"), out=out)


def _child(queue):
    try:
        x = torch.ones(100, device="cuda")
        queue.put(str(samebits.sum(x).item()))
    except Exception as error:
        queue.put(f"{type(error).__name__}: {error}")
    from samebits._samebits import reduce_into

    try:
        reduce_into(0, 0, 256, 5, 256, 0, 0)
        queue.put("no error")
    except samebits.CudaError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_after_cuda_began_is_an_error():
    import multiprocessing

    samebits.sum(torch.ones(100, device="cuda"))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    torchs, ours = queue.get(timeout=60), queue.get(timeout=60)
    child.join()
    assert "spawn" in ours, (torchs, ours)


def test_an_interpreter_that_ends_with_work_in_flight():
    import subprocess
    import sys

    program = "import torch, samebits; x = torch.ones(1 << 28, device='cuda'); [samebits.sum(x) for _ in range(100)]"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
