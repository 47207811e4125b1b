"""Measures the costs of starting up: the size of the wheel, the import, and a process's first sums on a GPU.

    python start.py --wheel FILE --out FOLDER

Writes start.csv. Each measurement runs in its own process, with the driver's cache of compiled kernels disabled.
"""

import argparse
import os
import subprocess
import sys

IMPORT = "import time; t = time.perf_counter_ns(); import samebits; print(time.perf_counter_ns() - t)"
FIRST = """
import time, torch, samebits
x = torch.ones({n}, device="cuda")
torch.cuda.synchronize()
for _ in range(2):
    t = time.perf_counter_ns()
    {call}.item()
    print(time.perf_counter_ns() - t)
"""


def run(program):
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=5)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, "start.csv"), "w") as file:
        file.write("what,process,value\n")
        file.write(f"wheel bytes,0,{os.path.getsize(arguments.wheel)}\n")
        for process in range(2 * arguments.processes):
            file.write(f"import ns,{process},{run(IMPORT)[0]}\n")
        for n in (1 << 10, 1 << 24):
            for name in ("samebits.sum(x)", "x.sum()"):
                for process in range(arguments.processes):
                    first, second = run(FIRST.format(n=n, call=name))
                    file.write(f"first {name} of {n} ns,{process},{first}\n")
                    file.write(f"second {name} of {n} ns,{process},{second}\n")


if __name__ == "__main__":
    main()
