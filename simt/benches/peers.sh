#!/bin/sh
# Compares simt with Oclgrind and numba's CUDA simulator: v0 on 2^20 f32 elements with blocks of 256
# threads, in one run.
#
# Needs Debian's `oclgrind` and a Python with `numba` (PyPI; PYTHON=.../bin/python names it), and skips
# those that are missing. Prints wall-clock time and CPU time in seconds: on a busy machine, compare
# CPU times.
cd "$(dirname "$0")/../.." || exit 1
cargo build --quiet --release -p simt || exit 1
PYTHON=${PYTHON:-python3} exec "${PYTHON:-python3}" - <<'EOF'
import os
import resource
import shutil
import subprocess
import sys
import time

N = 1 << 20
SIMT = [os.environ.get("CARGO_TARGET_DIR", "target") + "/release/simt", "run", "steps/v0-naive/src/kernel.f32.ptx",
        "--grid", "4096", "--block", "256", "--shared", "1024",
        "--arg", f"buf:f32:{N}:ones", "--arg", "buf:f32:4096:zeros", "--arg", f"u64:{N}"]
OCLGRIND = ["oclgrind-kernel", "--max-errors", "1"]


def seconds(command, where="."):
    """Wall-clock and processor seconds of a command: the best of three, or of one if it is slow."""
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, cwd=where, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best or (wall, cpu), (wall, cpu))
        if wall > 5:
            break
    return best


rows = []


def row(name, elements, times, against=None):
    ratio = ""
    if against is not None:
        # Time per element, relative to the time of simt.
        ratio = " ".join(f"{t / elements / (s / N):10.1f}" for t, s in zip(times, against))
    rows.append(f"{name:<40}{elements:>10} {times[0]:>9.2f} {times[1]:>9.2f} {ratio}")


counted = seconds(SIMT)
checked = seconds(SIMT + ["--check", "all"])
row("simt, counters", N, counted)
row("simt, counters and all checks", N, checked)
if shutil.which("oclgrind-kernel"):
    row("Oclgrind", N, seconds(OCLGRIND + ["v0.sim"], "simt/benches/peers"), counted)
    row("Oclgrind --data-races", N, seconds(OCLGRIND + ["--data-races", "v0.sim"], "simt/benches/peers"), checked)
else:
    print("left out: no oclgrind-kernel (apt-get install oclgrind)", file=sys.stderr)
try:
    out = subprocess.run([sys.executable, "cudasim.py"], cwd="simt/benches/peers", check=True, capture_output=True, text=True)
    wall, cpu = map(float, out.stdout.split())
    row("numba's CUDA simulator", 1 << 12, (wall, cpu), counted)
except subprocess.CalledProcessError:
    print("left out: no numba (pip install numba; PYTHON=...)", file=sys.stderr)
print(f"{'':<40}{'elements':>10} {'wall s':>9} {'cpu s':>9} {'times simt: wall':>18} cpu")
print("\n".join(rows))
EOF
