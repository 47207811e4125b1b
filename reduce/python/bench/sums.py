"""Times samebits, torch, CuPy and JAX: sums of 2^10 to 2^30 floats, sums of rows, and the cost of a call.

    python sums.py --out FOLDER [--rounds 40] [--only-calls]

Writes sums.csv.gz, with a line for each sample. Samples are paired: every function is called once in each round.
JAX computes on its own streams, on which no event can be recorded, so only its wall time is measured.
"""

import argparse
import gzip
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import samebits
import torch

from timing import Device, Gate, Host, cycle, rounds

POWERS = range(10, 31, 2)
ROWS = [(32, 4096), (4096, 4096), (1 << 18, 1 << 10), (1 << 14, 1 << 14), (2683, 100_003), (256, 1 << 20)]
POOL = 1 << 28  # The total number of bytes in all copies, which exceeds the size of an L2 cache.


def copies(rows, elements):
    """Returns copies of an input as tensors, whose total size exceeds that of an L2 cache."""
    count = max(1, min(1024, POOL // (4 * rows * elements)))
    shape = (count, elements) if rows == 1 else (count, rows, elements)
    return list(torch.rand(shape, device="cuda"))


def ways(rows, elements, absent):
    """Yields each function's name, its call for the device's timer (or None), and its call for the host's timer."""
    tensors, axis = copies(rows, elements), None if rows == 1 else -1
    one = cycle(tensors)
    yield (
        "torch.sum",
        lambda: torch.sum(one()) if axis is None else torch.sum(one(), -1),
        lambda: (torch.sum(one()) if axis is None else torch.sum(one(), -1)).cpu(),
    )
    yield "samebits of torch", lambda: samebits.sum(one(), axis), lambda: samebits.sum(one(), axis).cpu()
    try:
        import cupy
    except ImportError as error:
        absent.add(f"CuPy: {error}")
    else:
        cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
        array = cycle([cupy.from_dlpack(tensor) for tensor in tensors])
        yield "cupy.sum", lambda: cupy.sum(array(), axis), lambda: cupy.sum(array(), axis).get()
        yield (
            "samebits of cupy",
            lambda: samebits.sum(array(), axis),
            lambda: samebits.sum(array(), axis).get(),
        )
    try:
        import jax
    except ImportError as error:
        absent.add(f"JAX: {error}")
    else:
        import numpy

        jitted = jax.jit(lambda x: jax.numpy.sum(x, axis))
        # Lends at most 64 of torch's copies to JAX.
        lent = cycle([jax.dlpack.from_dlpack(tensor) for tensor in tensors[:64]])
        yield "jnp.sum", None, lambda: numpy.asarray(jitted(lent()))
        yield "samebits of jax", None, lambda: numpy.asarray(samebits.sum(lent(), axis, stream=1))


def calls(absent):
    """Yields the nanoseconds of an asynchronous call with 2^10 elements, as the mean of 100 calls."""
    for rows, elements in [(1, 1 << 10), (32, 32)]:
        runs = [(name, device) for name, device, _ in ways(rows, elements, absent) if device]
        for number in range(62):
            for name, call in runs if number % 2 == 0 else runs[::-1]:
                torch.cuda.synchronize()
                start = time.perf_counter_ns()
                for _ in range(100):
                    call()
                ns = (time.perf_counter_ns() - start) / 100
                if number >= 2:
                    yield f"{name},call,{rows},{elements},{number - 2},{ns:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only-calls", action="store_true", help="measure only the cost of a call")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    absent = set()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.zeros(1, device="cuda")
        clocks = [Device(Gate()), Host()]
        with gzip.open(os.path.join(arguments.out, "sums.csv.gz"), "wt") as file:
            file.write("way,clock,rows,elements,round,ns\n")
            file.writelines(line + "\n" for line in calls(absent))
            for rows, elements in [] if arguments.only_calls else [(1, 1 << power) for power in POWERS] + ROWS:
                for clock, column in zip(clocks, (1, 2)):
                    runs = {way[0]: way[column] for way in ways(rows, elements, absent) if way[column]}
                    for name, number, ns in rounds(clock, runs, arguments.rounds):
                        file.write(f"{name},{clock.name},{rows},{elements},{number},{ns}\n")
                    torch.cuda.synchronize()
                    torch.cuda.empty_cache()
                print(f"{rows} x {elements}", file=sys.stderr, flush=True)
    for reason in sorted(absent):
        print(f"not measured: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
