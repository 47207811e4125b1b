#!/usr/bin/env python3
"""Runs every line of differential.tsv on a GPU and prints the table with the hashes of the results.

    python3 simt/tests/differential.py [FOLDER] > table

With a folder, the results of each line are kept there as LINE.bin, 8 bytes for each input.
`SIMT_DIFFERENTIAL=FOLDER cargo test -p simt --test all -- differential` then shows where they differ.
Needs only a GPU of sm_90 or later and its driver.
"""

import ctypes
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
MANY = 4096
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


def bits(ty):
    return 32 if ty == "len" else int(ty.lstrip("subf"))


def mix(x):
    """Hashes a number by SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def operand(ty, i, k):
    """Returns the k-th operand of input i: an edge case, a number near one, few bits, or random bits."""
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


def is_nan(ty, v):
    exponent = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}.get(ty)
    return exponent is not None and v & (1 << bits(ty)) - 1 & ~(1 << bits(ty) - 1) > exponent


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


def main():
    keep = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    call("cuInit", 0)
    device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetName", name, 100, device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    memory = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), 40 * MANY)
    print(f"# result\toperands\tinstructions\tFNV-1a of the results on an {name.value.decode()}")
    for line, row in enumerate((HERE / "differential.tsv").read_text().splitlines(), 1):
        if row.startswith("#"):
            continue
        result, operands, body, _ = row.split("\t")
        types = operands.split(",")
        given = b"".join(operand(types[k], i, k).to_bytes(8, "little") if k < len(types) else bytes(8)
                         for i in range(MANY) for k in range(4))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            call("cuModuleLoadData", ctypes.byref(module), ptx(result, types, body).encode() + b"\0")
            call("cuModuleGetFunction", ctypes.byref(function), module, b"test")
        except RuntimeError as error:
            print(f"{row}: {error}", file=sys.stderr)
            print(f"{result}\t{operands}\t{body}\t-")
            continue
        call("cuMemcpyHtoD_v2", memory, given, len(given))
        target = ctypes.c_uint64(memory.value + 32 * MANY)
        call("cuMemsetD8_v2", target, 0, 8 * MANY)
        arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in (memory, target)))
        call("cuLaunchKernel", function, MANY // 256, 1, 1, 256, 1, 1, 0, None, arguments, None)
        call("cuCtxSynchronize")
        got = ctypes.create_string_buffer(8 * MANY)
        call("cuMemcpyDtoH_v2", got, target, 8 * MANY)
        call("cuModuleUnload", module)
        values = [MASK if is_nan(result, v) else v for v in struct.unpack(f"<{MANY}Q", got.raw)]
        print(f"{result}\t{operands}\t{body}\t{fnv(values):016x}")
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{line}.bin").write_bytes(struct.pack(f"<{MANY}Q", *values))


if __name__ == "__main__":
    main()
