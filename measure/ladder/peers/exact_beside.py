"""Times other sums of floats beside `ladder exact`: torch's, in floats and in doubles, CUB's, and Python's math.fsum.

    python3 peers/exact_beside.py --out results/exact/RUN [--peers libpeers.so]

The program writes every sample to beside.csv: way, elements, round and nanoseconds. The times of torch and CUB are
those of the GPU: a stream is held back until a sample is queued, and inputs rotate through a pool larger than L2.
The library is compiled from cub.cu. math.fsum runs on one core and reads a list, because it adds Python's numbers.
"""

import argparse
import csv
import ctypes
import math
import os
import time

SIZES = [1 << 10, 1 << 20, 1 << 24, 1 << 28]


def cub(path, torch):
    """Returns CUB's sums: the default, which repeats its bits on one GPU, and the one with the same bits on all GPUs."""
    lib = ctypes.CDLL(path)
    lib.peers_version.restype = ctypes.c_char_p
    name = f"CUB of {lib.peers_version().decode()}".replace(",", "")
    scratch = torch.empty(1 << 24, dtype=torch.uint8, device="cuda")
    out = torch.empty(1, dtype=torch.float64, device="cuda")

    def call(peer, x):
        room = ctypes.c_size_t(scratch.numel())
        code = lib.peers_reduce(
            peer,
            0,
            0,
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_uint64(x.numel()),
            ctypes.c_void_p(out.data_ptr()),
            None,
            ctypes.c_void_p(scratch.data_ptr()),
            ctypes.byref(room),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if code:
            raise RuntimeError(f"CUB returned error {code}")

    return {name: lambda x: call(0, x), f"{name} gpu_to_gpu": lambda x: call(2, x)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--peers", help="libpeers.so, which `cargo x peers` compiles")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    import torch

    pool = torch.rand(1 << 29, device="cuda")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    ways = {
        "torch.sum": lambda x: torch.sum(x),
        "torch.sum, dtype=float64": lambda x: torch.sum(x, dtype=torch.float64),
    }
    if args.peers:
        ways |= cub(args.peers, torch)
    samples, used = [], 0
    for n in SIZES:
        for call in ways.values():
            call(pool[:n])
        for number in range(args.rounds):
            for name, call in list(ways.items())[:: 1 if number % 2 else -1]:
                used = 0 if used + 2 * n > pool.numel() else used + n
                torch.cuda._sleep(1_000_000)
                start.record()
                call(pool[used : used + n])
                end.record()
                end.synchronize()
                samples.append((name, n, number, round(1e6 * start.elapsed_time(end))))
    for n in SIZES[:3]:
        values = pool[:n].cpu().double().tolist()
        for number in range(3):
            before = time.perf_counter_ns()
            math.fsum(values)
            samples.append(("math.fsum", n, number, time.perf_counter_ns() - before))
    with open(os.path.join(args.out, "beside.csv"), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("way", "n", "round", "ns"), *samples])
    for name, n in dict.fromkeys((name, n) for name, n, _, _ in samples):
        times = sorted(ns for way, size, _, ns in samples if (way, size) == (name, n))
        print(f"{name}, {n}: {times[len(times) // 2] / 1000:.1f} µs")


if __name__ == "__main__":
    main()
