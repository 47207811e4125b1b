"""Measures times of torch and CuPy in the same way as `ladder measure`. Copies of the input are in a pool larger
than any L2. Every competitor runs once in each round, and the order is reversed in every second round. The
stream is held back until a sample is queued. CUB runs in the same rounds, through libpeers.so, so that ratios
to it are paired.

    python3 peers/python.py --out results/RUN [--peers libpeers.so] [--minutes 2]

The program writes python.csv and python.toml, in the formats of raw.csv and env.toml.
"""

import argparse
import ctypes
import os
import sys
import time
import warnings

POOL = 1 << 30
SETTLE = 150_000  # nanoseconds of untimed runs before each sample
TYPES = {"f32": 0, "i32": 1}


class Cuda:
    """Functions of the CUDA driver that torch and CuPy lack."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.round = 0
        self.word = ctypes.c_void_p()
        self.address = ctypes.c_uint64()
        # The word for which the stream waits is in memory that is portable and mapped.
        self.check(self.lib.cuMemHostAlloc(ctypes.byref(self.word), ctypes.c_size_t(4), 3))
        self.check(
            self.lib.cuMemHostGetDevicePointer_v2(ctypes.byref(self.address), self.word, 0)
        )
        self.value = ctypes.cast(self.word, ctypes.POINTER(ctypes.c_uint32))
        self.value[0] = 0

    @staticmethod
    def check(code):
        if code:
            raise RuntimeError(f"the CUDA driver returned {code}")

    def close(self, stream):
        self.round += 1
        self.check(
            self.lib.cuStreamWaitValue32_v2(
                ctypes.c_void_p(stream), self.address, ctypes.c_uint32(self.round), 1
            )
        )

    def open(self):
        self.value[0] = self.round


class Cub:
    """CUB's default sum, run in the same way as by `ladder measure`."""

    def __init__(self, path, torch):
        self.lib = ctypes.CDLL(path)
        if self.lib.peers_abi() != 2:
            raise RuntimeError(f"{path} has another layout: run `cargo x peers` again")
        self.out = torch.empty(1, dtype=torch.float64, device="cuda")
        self.host = ctypes.c_uint64()
        self.torch = torch
        self.bytes = ctypes.c_size_t()

    def call(self, kind, view, scratch):
        code = self.lib.peers_reduce(
            0,
            0,
            kind,
            ctypes.c_void_p(view.data_ptr()),
            ctypes.c_uint64(view.numel()),
            ctypes.c_void_p(self.out.data_ptr()),
            ctypes.byref(self.host),
            ctypes.c_void_p(scratch),
            ctypes.byref(self.bytes),
            ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream),
        )
        Cuda.check(code)

    def bind(self, kind, view):
        self.call(kind, view, None)
        self.scratch = self.torch.empty(
            max(1, self.bytes.value), dtype=self.torch.uint8, device="cuda"
        )
        self.kind = kind

    def __call__(self, view):
        self.call(self.kind, view, self.scratch.data_ptr())


def competitors(torch, cub, absent):
    """Yields a name, a function of a view, and a description for each competitor."""
    yield "torch", lambda view: view.tensor.sum(), f"torch.sum {torch.__version__}"
    try:
        import cupy
    except ImportError as error:
        absent.append(("cupy", f"CuPy is not installed: {error}"))
    else:
        # CuPy uses torch's stream, so that events and the gate are the same for all.
        handle = torch.cuda.current_stream().cuda_stream
        cupy.cuda.ExternalStream(handle).use()
        yield (
            "cupy",
            lambda view: view.array.sum(),
            f"cupy.sum {cupy.__version__} (CUB inside)",
        )
    if cub is not None:
        yield "cub", cub, "CUB, in the same rounds as the two above"


class View:
    """One copy of the input, for torch and for CuPy."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.array = None

    def __getattr__(self, name):
        return getattr(self.tensor, name)


def measure(torch, driver, runs, element, n, args, rows):
    kind = torch.float32 if element == "f32" else torch.int32
    copies = max(1, min(POOL // (4 * n) + 1, 4096))
    free, _ = torch.cuda.mem_get_info()
    copies = max(1, min(copies, free // 2 // (4 * n)))
    if copies * 4 * n > free:
        return f"{n} elements do not fit into the GPU's memory"
    generator = torch.Generator(device="cuda").manual_seed(42)
    if element == "f32":
        pool = torch.rand(copies * n, device="cuda", generator=generator)
    else:
        pool = torch.randint(0, 256, (copies * n,), device="cuda", dtype=kind, generator=generator)
    views = [View(pool[k * n : (k + 1) * n]) for k in range(copies)]
    if any(name == "cupy" for name, _, _ in runs):
        import cupy

        whole = cupy.from_dlpack(pool)
        for k, view in enumerate(views):
            view.array = whole[k * n : (k + 1) * n]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream()
    turn = 0

    def sample(run, before):
        nonlocal turn
        # Untimed runs of the same function precede the timed run, until the effect of earlier kernels is gone.
        for _ in range(before):
            run(views[turn % copies])
            turn += 1
        view = views[turn % copies]
        turn += 1
        driver.close(stream.cuda_stream)
        try:
            start.record()
            run(view)
            end.record()
        finally:
            driver.open()
        end.synchronize()
        return max(1, round(start.elapsed_time(end) * 1e6))

    for _, run, _ in runs:
        if isinstance(run, Cub):
            run.bind(TYPES[element], views[0])
        # Two ungated runs trigger lazy compilation and allocation before the measurement.
        for _ in range(2):
            run(views[0])
            torch.cuda.synchronize()
    deadline = time.monotonic() + args.seconds
    settle = {name: max(1, min(32, SETTLE // sample(run, 1))) for name, run, _ in runs}
    for number in range(args.rounds + 2):
        order = runs if number % 2 == 0 else runs[::-1]
        for name, run, _ in order:
            ns = sample(run, settle[name])
            if number >= 2:
                rows.append(f"{name},{element},0,{n},cold,gpu,{number - 2},{ns}")
        if number >= 13 and number % 2 and time.monotonic() > deadline:
            break
    return None


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', "'") + '"'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="the folder of a run")
    parser.add_argument("--peers", default="target/peers/libpeers.so")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--types", default="f32")
    parser.add_argument("--powers", default="10,12,14,16,18,20,22,24,26,28,30,32")
    args = parser.parse_args()
    powers = [int(power) for power in args.powers.split(",")]
    types = args.types.split(",")
    args.seconds = 60 * args.minutes / max(1, len(powers) * len(types))
    try:
        import torch
    except ImportError as error:
        sys.exit(f"error: torch is not installed: {error}")
    if not torch.cuda.is_available():
        sys.exit("error: torch finds no GPU here: run this where `ladder measure` runs")
    warnings.simplefilter("ignore", DeprecationWarning)
    absent = []
    driver, cub = None, None
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.zeros(1, device="cuda")
        driver = Cuda()
        try:
            cub = Cub(args.peers, torch)
        except (OSError, RuntimeError) as error:
            print(f"without CUB: {error}", file=sys.stderr)
        runs = list(competitors(torch, cub, absent))
        rows = []
        for element in types:
            for power in powers:
                try:
                    reason = measure(torch, driver, runs, element, 1 << power, args, rows)
                except RuntimeError as error:
                    reason = str(error).splitlines()[0]
                if reason:
                    print(f"2^{power} {element}: {reason}", file=sys.stderr)
                torch.cuda.empty_cache()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "python.csv"), "w") as file:
        file.write("variant,type,threads,n,cache,clock,round,ns\n")
        file.write("".join(row + "\n" for row in rows))
    with open(os.path.join(args.out, "python.toml"), "w") as file:
        for name, _, what in runs:
            if name != "cub":
                file.write(f'[[variant]]\nname = "{name}"\nrole = "peer"\nwhat = {quoted(what)}\n\n')
        for name, reason in absent:
            file.write(f'[[absent]]\nvariant = "{name}"\nreason = {quoted(reason)}\n\n')
    print(f"{len(rows)} samples of {', '.join(name for name, _, _ in runs)} in {args.out}")


if __name__ == "__main__":
    main()
