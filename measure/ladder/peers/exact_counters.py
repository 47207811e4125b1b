"""Launches each kernel of exact sums and dot products once, on 2^26 elements, so that ncu can count.

    ncu --csv --clock-control none --cache-control none --kernel-name regex:exact \\
        --metrics $(python3 peers/exact_counters.py --metrics) \\
        python3 peers/exact_counters.py reduce/src/ptx > ncu.csv
    python3 peers/exact_counters.py --table ncu.csv

The table has a row for each launch. Stalls are warps that wait for a reason, per instruction that is issued.
"""

import csv
import glob
import os
import sys

N = 1 << 26
# The maximum number of vectors in a chunk: see reduce/src/exact/cut.rs.
CHUNK = {"f32_sum": 1 << 18, "f64_sum": 1 << 18, "f16_sum": 1 << 18, "bf16_sum": 1 << 17}
CHUNK |= {"f32_dot": 1 << 16, "f64_dot": 1 << 17, "f16_dot": 1 << 17, "bf16_dot": 1 << 16}

COUNTERS = {
    "µs": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "blocks by registers": "launch__occupancy_limit_registers",
    "by shared memory": "launch__occupancy_limit_shared_mem",
    "warps, %": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "instructions": "smsp__inst_executed.sum",
    "issue, %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "DRAM, %": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "shared and L1, %": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "fp64, %": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "conversions, %": "smsp__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
}
STALLS = [
    "long_scoreboard",
    "short_scoreboard",
    "mio_throttle",
    "math_pipe_throttle",
    "wait",
    "not_selected",
    "barrier",
    "branch_resolving",
    "membar",
]
COUNTERS |= {
    stall: f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS
}


def table(path):
    """Prints a Markdown table of ncu's CSV."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    names = [line.split(",")[1:] for line in lines if line.startswith("RUN,")]
    launches = {}
    for row in csv.DictReader(line for line in lines if line.startswith('"')):
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = row["Metric Value"]
    heads = ["kernel", "data", *COUNTERS]
    print("| " + " | ".join(heads) + " |\n|:--|:--" + "|--:" * len(COUNTERS) + "|")
    for (kernel, data), (_, found) in zip(names, sorted(launches.items()), strict=True):
        values = [found[metric] for metric in COUNTERS.values()]
        values[0] = f"{float(values[0].replace(',', '')) / 1000:.1f}"
        print(f"| {kernel} | {data} | " + " | ".join(values) + " |")


def elements(name, values):
    """Converts doubles to a type; bfloat16 are the upper halves of floats."""
    import cupy as cp

    if name == "f64":
        return values
    if name == "bf16":
        return (values.astype(cp.float32).view(cp.uint32) >> 16).astype(cp.uint16)
    return values.astype(cp.float16 if name == "f16" else cp.float32)


def launch():
    """Launches the kernels."""
    import cupy as cp
    import numpy as np

    random = cp.random.default_rng(1)
    uniform = random.random(N)
    wide = cp.ldexp(1 + uniform, random.integers(-1000, 1000, N, dtype=cp.int32))
    state, out = cp.zeros(2048, dtype=cp.uint64), cp.zeros(256, dtype=cp.uint64)
    sms = cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*_exact.70.ptx"))):
        entry = os.path.basename(path).split(".")[0]
        kind = entry.removesuffix("_exact")
        with open(path, encoding="utf-8") as file:
            threads = int(file.read().split(".maxntid ")[1].split(",")[0])
        kernel = cp.RawModule(path=path).get_function(entry)
        blocks = sms * cp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            getattr(kernel, "kernel", kernel).ptr, threads, 0
        )
        for data, values in [("uniform", uniform)] + [("wide", wide)] * (kind == "f64_sum"):
            x = elements(kind.split("_")[0], values)
            n = N // 2 if "dot" in kind else N
            inputs = [x.data.ptr, x.data.ptr + n * x.itemsize][: 2 if "dot" in kind else 1]
            vectors = -(-n * x.itemsize // 16)
            rounds = -(-vectors // (blocks * CHUNK[kind]))
            each = -(-vectors // (blocks * rounds * 8)) * 8
            chunks = -(-vectors // each)
            numbers = [np.uint64(at) for at in [*inputs, out.data.ptr, n]]
            numbers += [np.uint32(each), np.uint32(chunks), np.uint64(state.data.ptr), np.uint32(0)]
            print(f"RUN,{entry},{data}", flush=True)
            kernel((min(chunks, blocks),), (threads,), tuple(numbers))
            cp.cuda.Device().synchronize()


if __name__ == "__main__":
    if sys.argv[1] == "--metrics":
        print(",".join(COUNTERS.values()))
    elif sys.argv[1] == "--table":
        table(sys.argv[2])
    else:
        launch()
