"""Measures times of torch's sum of each row in the same way as `ladder rows`, for the same shapes. Copies of the
input are in a pool larger than any L2. The order is reversed in every second round, and the stream is held back
until a sample is queued. CUB runs in the same rounds, through librows.so, so that ratios to it are paired.

    python3 peers/rows.py --out results/rows/RUN [--peers librows.so] [--rounds 40]

The program reads the shapes from rows.csv.gz in that folder, and writes rows-python.csv.gz and rows-python.toml.
"""

import argparse
import csv
import ctypes
import gzip
import os
import sys

from python import SETTLE, Cuda, quoted

POOL = 1 << 28  # elements, which take a gibibyte


class Cub:
    """CUB's sums for rows of one size."""

    def __init__(self, path, torch):
        self.lib = ctypes.CDLL(path)
        if self.lib.rows_abi() != 1:
            raise RuntimeError(f"{path} has another layout: run `cargo x peers` again")
        self.torch = torch
        self.scratch = torch.empty(1 << 24, dtype=torch.uint8, device="cuda")

    def __call__(self, view, out):
        rows, elements = view.shape
        room = ctypes.c_size_t(self.scratch.numel())
        code = self.lib.rows_sum(
            0,
            0,
            ctypes.c_void_p(view.data_ptr()),
            ctypes.c_uint64(rows),
            ctypes.c_uint64(elements),
            ctypes.c_void_p(out.data_ptr()),
            ctypes.c_void_p(self.scratch.data_ptr()),
            ctypes.byref(room),
            ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream),
        )
        Cuda.check(code)


def measure(torch, driver, runs, pool, sums, shape, rounds):
    rows, elements = shape
    total = rows * elements
    slot = (total + 31) // 32 * 32
    copies = max(1, pool.numel() // slot)
    views = {}
    out = sums[:rows]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream().cuda_stream
    turn = 0

    def view():
        nonlocal turn
        turn = (turn + 0x9E3779B1) % copies
        if turn not in views:
            views[turn] = pool[turn * slot : turn * slot + total].view(rows, elements)
        return views[turn]

    def sample(run, before):
        for _ in range(before):
            run(view(), out)
        where = view()
        driver.close(stream)
        try:
            start.record()
            run(where, out)
            end.record()
        finally:
            driver.open()
        end.synchronize()
        return max(1, round(start.elapsed_time(end) * 1e6))

    for _, run in runs:
        for _ in range(2):
            run(view(), out)
            torch.cuda.synchronize()
    settle = {name: max(1, min(16, SETTLE // sample(run, 1))) for name, run in runs}
    for number in range(rounds):
        for name, run in runs if number % 2 == 0 else runs[::-1]:
            yield name, number, sample(run, settle[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="the folder that `ladder rows` has written")
    parser.add_argument("--peers", default="target/peers/librows.so")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    with gzip.open(os.path.join(args.out, "rows.csv.gz"), "rt") as file:
        shapes = sorted({(int(row["rows"]), int(row["elements"])) for row in csv.DictReader(file)})
    try:
        import torch
    except ImportError as error:
        sys.exit(f"error: torch is not installed: {error}")
    if not torch.cuda.is_available():
        sys.exit("error: torch finds no GPU here: run this where `ladder rows` runs")
    taken = 0
    with torch.cuda.stream(torch.cuda.Stream()):
        most = max(rows * elements for rows, elements in shapes)
        pool = torch.rand(max(POOL, 2 * (most + 32)), device="cuda")
        sums = torch.empty(max(rows for rows, _ in shapes), device="cuda")
        driver = Cuda()
        runs = [("torch", lambda view, out: torch.sum(view, 1, out=out))]
        try:
            runs.append(("cub", Cub(args.peers, torch)))
        except (OSError, RuntimeError) as error:
            print(f"without CUB: {error}", file=sys.stderr)
        with gzip.open(os.path.join(args.out, "rows-python.csv.gz"), "wt") as file:
            file.write("rows,elements,way,round,ns\n")
            for shape in shapes:
                try:
                    for name, number, ns in measure(torch, driver, runs, pool, sums, shape, args.rounds):
                        file.write(f"{shape[0]},{shape[1]},{name},{number},{ns}\n")
                        taken += 1
                except RuntimeError as error:
                    print(f"{shape[0]} rows of {shape[1]}: {str(error).splitlines()[0]}", file=sys.stderr)
    with open(os.path.join(args.out, "rows-python.toml"), "w") as file:
        file.write(f"torch = {quoted(torch.__version__)}\n")
    print(f"{taken} samples of {len(shapes)} shapes in {args.out}")


if __name__ == "__main__":
    main()
