#!/usr/bin/env python3
"""Runs the table of instructions (tests/ptx/*.ptx) on a real GPU and compares the results with the expected ones.

Needs only a GPU of sm_90 or later and its driver.
"""

import ctypes
import math
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = {"u8": "B", "s8": "b", "u16": "H", "s16": "h", "f16": "H", "bf16": "H", "u32": "I", "s32": "i", "f32": "f",
           "b8": "B", "b16": "H", "b32": "I", "b64": "Q", "u64": "Q", "s64": "q", "f64": "d"}


def number(ty, text):
    """Returns the bytes of a typed value; the caller aligns them to its size."""
    code = FORMATS[ty]
    if code in "fd":
        if text.startswith("0x"):
            return int(text, 16).to_bytes(struct.calcsize(code), "little")
        if text == "nan":
            return (0x7FFFFFFF if code == "f" else 0x7FFFFFFFFFFFFFFF).to_bytes(struct.calcsize(code), "little")
        return struct.pack("<" + code, float(text))
    return (int(text, 0) % (1 << 8 * struct.calcsize(code))).to_bytes(struct.calcsize(code), "little")


def values(text):
    words = text.split()
    out = b""
    for ty, value in zip(words[::2], words[1::2]):
        raw = number(ty, value)
        out += b"\0" * (-len(out) % len(raw)) + raw
    return out


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    memory = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), 8192)
    bad = total = 0
    for path in sorted((HERE / "ptx").glob("*.ptx")):
        text = path.read_text()
        head = [l[3:] for l in text.splitlines() if l.startswith("// ")]
        numbers = {k: int(v) for k, v in (l.split(": ") for l in head if l.split(":")[0] in ("threads", "blocks", "cluster"))}
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            call("cuModuleLoadData", ctypes.byref(module), text.encode() + b"\0")
            call("cuModuleGetFunction", ctypes.byref(function), module, b"test")
        except RuntimeError as error:
            print(f"{path.name}: {error}")
            bad += 1
            continue
        for case in (l[6:] for l in head if l.startswith("case: ")):
            given, wanted = (values(side) for side in case.split(" -> "))
            call("cuMemsetD8_v2", memory, 0, 8192)
            call("cuMemcpyHtoD_v2", memory, given, len(given))
            source, target = ctypes.c_uint64(memory.value), ctypes.c_uint64(memory.value + 4096)
            arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in (source, target)))

            class Attribute(ctypes.Structure):
                _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]

            class Config(ctypes.Structure):
                _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                            ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]

            cluster = Attribute(4, 0, (ctypes.c_uint32 * 16)(numbers.get("cluster", 1), 1, 1))
            config = Config((ctypes.c_uint * 3)(numbers.get("blocks", 1), 1, 1), (ctypes.c_uint * 3)(numbers.get("threads", 1), 1, 1),
                            0, None, ctypes.cast(ctypes.byref(cluster), ctypes.c_void_p), 1)
            call("cuLaunchKernelEx", ctypes.byref(config), function, arguments, None)
            call("cuCtxSynchronize")
            got = ctypes.create_string_buffer(len(wanted))
            call("cuMemcpyDtoH_v2", got, target, len(wanted))
            total += 1
            if got.raw != wanted:
                bad += 1
                print(f"{path.name}: {case}: got {got.raw.hex(' ', 4)}, expected {wanted.hex(' ', 4)}")
    print(f"{total} cases, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
