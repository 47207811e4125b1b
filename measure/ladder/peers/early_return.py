"""Runs the zoo's early return on a GPU, as PTX for sm_60 and for sm_70, 1000 times each.

    python3 measure/ladder/peers/early_return.py

Needs only Python and the CUDA driver. Prints how often the sum was right for each target.
"""

import ctypes as C
import pathlib
import re

RUNS, N, BLOCKS, THREADS = 1000, 10007, 40, 256
KERNEL = pathlib.Path(__file__).parents[3] / "zoo/kernels/early-return.i32.ptx"

cuda = C.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        raise SystemExit(f"{name} returned error {code}")


def allocate(size):
    address = C.c_uint64()
    call("cuMemAlloc_v2", C.byref(address), C.c_size_t(size))
    return address


def main():
    device, context, name = C.c_int(), C.c_void_p(), C.create_string_buffer(99)
    call("cuInit", 0)
    call("cuDeviceGet", C.byref(device), 0)
    call("cuDeviceGetName", name, 99, device)
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    data = (C.c_int * N)(*[i % 7 + 1 for i in range(N)])
    source, sums = allocate(4 * N), allocate(4 * BLOCKS)
    call("cuMemcpyHtoD_v2", source, data, C.c_size_t(4 * N))
    text = KERNEL.read_text()
    for target in ("sm_60", "sm_70"):
        ptx, count = re.subn(r"\.target sm_\d+", f".target {target}", text)
        assert count == 1, "the PTX has no .target line"
        module, function = C.c_void_p(), C.c_void_p()
        call("cuModuleLoadData", C.byref(module), ptx.encode() + b"\0")
        call("cuModuleGetFunction", C.byref(function), module, b"reduce")
        length = C.c_uint64(N)
        arguments = [C.cast(C.byref(value), C.c_void_p) for value in (source, sums, length)]
        packed = (C.c_void_p * 3)(*arguments)
        right = 0
        for _ in range(RUNS):
            call("cuMemsetD8_v2", sums, C.c_ubyte(0xFF), C.c_size_t(4 * BLOCKS))
            call("cuLaunchKernel", function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None, packed, None)
            call("cuCtxSynchronize")
            out = (C.c_int * BLOCKS)()
            call("cuMemcpyDtoH_v2", out, sums, C.c_size_t(4 * BLOCKS))
            right += sum(out) == sum(data)
        print(f"{name.value.decode()}, early return as {target}: right {right} of {RUNS}")


main()
