"""Records registers, resident blocks and times of the kernels in studies/row-sum, without the launch that adds the
rows' sums.

    python3 peers/row_sum.py --out results/rows/RUN --ptx studies/row-sum/src

The program writes every sample to ways.csv. The order is reversed in every second round, the stream is held back
until a sample is queued, and the inputs are in a pool larger than any L2.
"""

import argparse
import ctypes
import os

from python import Cuda

SIZES = [(3000, 2048), (3000, 2047), (24000, 2048), (23989, 2047), (1 << 17, 2048), (1 << 22, 64), (1 << 12, 1 << 16), (16, 1 << 20)]
SLICE = 1 << 13
ACCUMULATORS = [1, 2, 3, 5, 10]


def ways():
    """Yields a name, a file, an entry point, and the supported lengths (0 for any) for each kernel."""
    for count in ACCUMULATORS:
        for fixed in (0, 2048):
            name = f"{count}-accumulators" + ("-fixed" if fixed else "")
            yield name, "accumulators", f"rows_{count}_{fixed}", fixed
    yield "shuffle-tail", "tail", "rows", 0
    yield "block-a-row", "wide", "rows", -4
    yield "lanes-a-row", "lanes", "rows", -4
    yield "blocks-a-row", "split", "rows", -SLICE


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--ptx", default="studies/row-sum/src")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        torch.zeros(1, device="cuda")
        driver, lib = Cuda(), ctypes.CDLL("libcuda.so.1")
        stream = torch.cuda.current_stream().cuda_stream
        pool, out = torch.rand(1 << 29, device="cuda"), torch.empty(1 << 23, device="cuda")
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        found, slices, parts = [], ctypes.c_void_p(), torch.empty(1 << 16, device="cuda")
        for name, file, entry, takes in ways():
            module, function, number = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
            path = os.path.join(args.ptx, f"{file}.f32.ptx").encode()
            Cuda.check(lib.cuModuleLoad(ctypes.byref(module), path))
            Cuda.check(lib.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()))
            Cuda.check(lib.cuFuncGetAttribute(ctypes.byref(number), 4, function))
            registers = number.value
            Cuda.check(lib.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(number), function, 256, ctypes.c_size_t(0)))
            found.append((name, function, takes, registers, number.value))
            if file == "split":
                Cuda.check(lib.cuModuleGetFunction(ctypes.byref(slices), module, b"slices"))

        def call(function, grid, *args):
            held = [ctypes.c_uint64(x) for x in args]
            params = (ctypes.c_void_p * len(held))(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in held])
            Cuda.check(lib.cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, ctypes.c_void_p(stream), params, None))

        def launch(function, name, at, rows, length):
            if name == "blocks-a-row":
                each = length // SLICE
                call(function, rows * each, at, parts.data_ptr(), rows * length, SLICE)
                call(slices, -(-rows // 8), parts.data_ptr(), out.data_ptr(), rows * each, each)
                return
            lanes = max(1, min(32, length // 4)) if name == "lanes-a-row" else 0
            grid = -(-rows * lanes // 256) if lanes else rows
            held = [ctypes.c_uint64(x) for x in (at, out.data_ptr(), rows * length, length)] + [ctypes.c_uint32(lanes)]
            params = (ctypes.c_void_p * 5)(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in held])
            Cuda.check(lib.cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, ctypes.c_void_p(stream), params, None))

        os.makedirs(args.out, exist_ok=True)
        with open(os.path.join(args.out, "ways.csv"), "w") as file:
            file.write("way,rows,elements,registers,blocks,threads,round,ns\n")
            for rows, length in SIZES:
                runs = [w for w in found if w[2] in (0, length) or (w[2] < 0 and length % -w[2] == 0)]
                slot = (rows * length + 31) // 32 * 32
                copies, turn = pool.numel() // slot, 0
                view = pool[: rows * length].view(rows, length)
                for name, function, _, _, _ in runs:
                    out.fill_(-1)
                    launch(function, name, pool.data_ptr(), rows, length)
                    off = (out[:rows].double() - view.sum(1, dtype=torch.float64)).abs().max().item()
                    if not off < 1e-4 * length:
                        raise RuntimeError(f"{name}, {rows} rows of {length}: off by {off}")
                for number in range(args.rounds):
                    for name, function, _, registers, blocks in runs if number % 2 == 0 else runs[::-1]:
                        for before in (1, 1, 0):
                            at = pool.data_ptr() + 4 * (turn % copies) * slot
                            turn += 1
                            if before:
                                launch(function, name, at, rows, length)
                                continue
                            driver.close(stream)
                            start.record()
                            launch(function, name, at, rows, length)
                            end.record()
                            driver.open()
                            end.synchronize()
                            ns = round(start.elapsed_time(end) * 1e6)
                            file.write(f"{name},{rows},{length},{registers},{blocks},256,{number},{ns}\n")


if __name__ == "__main__":
    main()
