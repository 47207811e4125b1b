#!/usr/bin/env python3
"""Runs every line of differential.tsv and approximate.tsv on a GPU.

    python3 simt/tests/differential.py FOLDER

The folder gets both tables with the GPU's results. For each line of differential.tsv whose hash was another one, the
folder also gets the file LINE.bin with the results, 8 bytes for each input.
`SIMT_DIFFERENTIAL=FOLDER cargo test -p simt --test all -- differential` then shows where they differ from the
interpreter's.
Needs only a GPU of sm_90 or later and its driver.
"""

import ctypes
import functools
import pathlib
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
MANY = 4096
FEW = 128  # The number of results that approximate.tsv holds for each line.
MASK = (1 << 64) - 1
INTS = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF,
        0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, MASK - 1, MASK]
FLOATS = {
    "f16": [0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3800, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7FFF],
    "bf16": [0, 0x8000, 1, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F00, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FFF],
    "f32": [0, 0x80000000, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x7F7FFFFF, 0xFF7FFFFF,
            0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x4F000000, 0x5F000000, 0x3FC00000, 0x40200000],
    "f64": [0, 1 << 63, 1, (1 << 52) - 1, 1 << 52, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FE0000000000000,
            0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FFFFFFFFFFFFFFF,
            0x41E0000000000000, 0x43E0000000000000, 0x3FF8000000000000, 0xFFFFFFFF],
}


HALVES = {"f16x2": "f16", "bf16x2": "bf16"}


def bits(ty):
    return 32 if ty == "len" or ty in HALVES else int(ty.lstrip("subf"))


def mix(x):
    """Hashes a number with SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


@functools.cache
def operand(ty, i, k):
    """Returns the k-th operand of input i: an edge case, a number near one, a number with few bits set, or random bits."""
    if ty in HALVES:
        return operand(HALVES[ty], i, k) | operand(HALVES[ty], i + MANY, k) << 16
    kind, value = mix(8 * i + 2 * k), mix(8 * i + 2 * k + 1)
    edges = FLOATS.get(ty, INTS)
    edge = edges[(kind >> 8) % len(edges)]
    low = (1 << bits(ty)) - 1
    if ty == "len":
        return value % 300
    if kind % 4 == 0:
        return edge & low
    if kind % 4 == 1:
        return (edge + value % 7 - 3) & low
    if kind % 4 == 2 and ty not in FLOATS:
        return (value >> value % 64) & low
    return value & low


def without_payload(ty, v):
    """Replaces every NaN with the same one, because payloads are not compared."""
    if ty in HALVES:
        return without_payload(HALVES[ty], v & 0xFFFF) & 0xFFFF | (without_payload(HALVES[ty], v >> 16) & 0xFFFF) << 16
    infinity = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}.get(ty)
    return MASK if infinity is not None and v & (1 << bits(ty) - 1) - 1 > infinity else v


def ptx(result, operands, body):
    register = {16: "b16", 32: "b32", 64: "b64"}
    names = ["%a", "%b", "%c", "%f"]
    lines = [".version 8.3", ".target sm_90", ".address_size 64", ".visible .entry test(.param .u64 in, .param .u64 out)",
             "{", ".reg .pred %p;", ".reg .b32 %i<4>;", ".reg .b64 %n<4>;",
             f".reg .{register[bits(result)]} %d, %e;"]
    lines += [f".reg .{register[bits(ty)]} {name};" for name, ty in zip(names, operands)]
    lines += ["ld.param.u64 %n0, [in];", "ld.param.u64 %n1, [out];", "mov.u32 %i0, %ctaid.x;", "mov.u32 %i1, %tid.x;",
              "mad.lo.u32 %i0, %i0, 256, %i1;", "mad.wide.u32 %n2, %i0, 32, %n0;", "mad.wide.u32 %n3, %i0, 8, %n1;"]
    lines += [f"ld.global.{register[bits(ty)]} {name}, [%n2+{8 * k}];" for k, (name, ty) in enumerate(zip(names, operands))]
    lines += [body, f"st.global.{register[bits(result)]} [%n3], %d;", "ret;", "}"]
    return "\n".join(lines) + "\n"


def fnv(values):
    h = 0xCBF29CE484222325
    for v in values:
        for byte in v.to_bytes(8, "little"):
            h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


@functools.cache
def inputs(operands):
    types = operands.split(",")
    return b"".join(operand(types[k], i, k).to_bytes(8, "little") if k < len(types) else bytes(8)
                    for i in range(MANY) for k in range(4))


class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, self.context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
        self.memory = ctypes.c_uint64()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), 40 * MANY)
        self.name = name.value.decode()

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    def load(self, row):
        """Returns the module and the kernel of a line, or the error. Runs in several threads."""
        result, operands, body = row[:3]
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call("cuCtxSetCurrent", self.context)
            self.call("cuModuleLoadData", ctypes.byref(module), ptx(result, operands.split(","), body).encode() + b"\0")
            self.call("cuModuleGetFunction", ctypes.byref(function), module, b"test")
        except RuntimeError as error:
            return error
        return module, function

    def results(self, row, loaded):
        module, function = loaded
        given = inputs(row[1])
        self.call("cuMemcpyHtoD_v2", self.memory, given, len(given))
        target = ctypes.c_uint64(self.memory.value + 32 * MANY)
        self.call("cuMemsetD8_v2", target, 0, 8 * MANY)
        arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in (self.memory, target)))
        self.call("cuLaunchKernel", function, MANY // 256, 1, 1, 256, 1, 1, 0, None, arguments, None)
        self.call("cuCtxSynchronize")
        got = ctypes.create_string_buffer(8 * MANY)
        self.call("cuMemcpyDtoH_v2", got, target, 8 * MANY)
        self.call("cuModuleUnload", module)
        return [without_payload(row[0], v) for v in struct.unpack(f"<{MANY}Q", got.raw)]

    def table(self, name, folder, said):
        """Runs a table, and writes it with what `said` returns for the line's number and results."""
        lines = (HERE / name).read_text().splitlines()
        rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if not line.startswith("#")]
        with ThreadPoolExecutor() as pool, open(folder / name, "w") as out:
            out.write(f"{lines[0].split(' on an ')[0]} on an {self.name}\n")
            for (number, row), loaded in zip(rows, pool.map(lambda row: self.load(row[1]), rows)):
                if isinstance(loaded, RuntimeError):
                    print(f"{name}, line {number}: {row[2]}: {loaded}", file=sys.stderr)
                    row[-1] = "-"
                else:
                    row[-1] = said(number, row, self.results(row, loaded))
                out.write("\t".join(row) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    gpu = Gpu()

    def hashed(number, row, values):
        found = f"{fnv(values):016x}"
        if found != row[-1]:
            (folder / f"{number}.bin").write_bytes(struct.pack(f"<{MANY}Q", *values))
        return found

    def written(_, row, values):
        low = (1 << bits(row[0])) - 1
        return ",".join(f"{v & low:x}" for v in values[:FEW])

    gpu.table("differential.tsv", folder, hashed)
    gpu.table("approximate.tsv", folder, written)


if __name__ == "__main__":
    main()
