#!/usr/bin/env python3
"""Compiles the corpus with NVRTC: one PTX file per kernel, type, compiler and architecture.

    make.py OUT [--all] [--include DIR] VERSION=LIBNVRTC ...

for example

    make.py ptx --include nvidia/cu13/include 12.4=.../libnvrtc.so.12 13.0=.../libnvrtc.so.13

The libraries are in PyPI's packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-nvrtc; each needs its own
directory on LD_LIBRARY_PATH. Without --all, only the committed selection is written: for each kernel,
the pairs of compiler and architecture whose PTX differs by more than its head.
"""

import ctypes
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
STEPS = HERE.parent.parent.parent / "steps"
FLOATS = ["float", "int", "double"]
# For each kernel: its types, and the oldest architecture that has its instructions.
KERNELS = {
    "grid_stride": (FLOATS, 60),
    "redux": (["int"], 80),
    "votes": (["int"], 60),
    "last_block": (FLOATS, 60),
    "last_block_acq_rel": (FLOATS, 70),
    "bulk_ring": (FLOATS, 90),
    "cluster": (FLOATS, 90),
    "wide": (["int"], 60),
    "matrix": (["float"], 60),
    "rows": (FLOATS, 60),
    "atomics": (["int"], 60),
    "numbers": (["int"], 60),
    "halves": (["float"], 60),
    "groups": (FLOATS, 70),
    "tiles": (["float"], 80),
}
ARCHES = {
    "12": [60, 70, 75, 80, 90],
    "13": [75, 80, 90, 100, 120],
}


def compile(lib, source, options):
    program = ctypes.c_void_p()
    code = source.read_bytes()
    assert lib.nvrtcCreateProgram(ctypes.byref(program), code, source.name.encode(), 0, None, None) == 0
    options = [o.encode() for o in options]
    status = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if status:
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        raise SystemExit(f"{source.name} {options}: {log.value.decode()}")
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, ptx)
    # The compiler's folder is removed, because it has no meaning on other machines.
    return re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", ptx.value.decode())


def main():
    arguments = sys.argv[1:]
    everything = "--all" in arguments
    arguments = [a for a in arguments if a != "--all"]
    include = []
    if "--include" in arguments:
        at = arguments.index("--include")
        include = ["--include-path=" + arguments[at + 1]]
        del arguments[at : at + 2]
    out = pathlib.Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    for pair in arguments[1:]:
        version, path = pair.split("=")
        lib = ctypes.CDLL(path)
        major = version.split(".")[0]
        jobs = [(HERE / f"{name}.cu", name, types, least) for name, (types, least) in KERNELS.items()]
        jobs += [(d / "src" / "kernel.cu", d.name, FLOATS, 60) for d in sorted(STEPS.iterdir())]
        for source, name, types, least in jobs:
            step = name not in KERNELS
            for arch in ARCHES[major]:
                if arch < least or (name == "halves" and (major == "12" or arch < 75)):
                    continue  # Only the headers of 13 are available, and 12 rejects them.
                if name in ("groups", "tiles") and major == "12":
                    continue
                if not everything and not select(name, step, version, arch):
                    continue
                for ty in types:
                    if not everything and ty != "float" and len(types) == 3 and arch not in (60, 90):
                        continue
                    if not everything and step and ty != "float":
                        continue
                    options = [f"--gpu-architecture=compute_{arch}", f"-DElement={ty}", "--std=c++17"]
                    if name not in ("groups", "tiles"):  # Its inlined headers would add 100 kB of debug strings.
                        options.append("-lineinfo")
                    text = compile(lib, source, options + include)
                    (out / f"{name}.{ty}.{version}.{arch}.ptx").write_text(text)


def select(name, step, version, arch):
    newest = version != "13.0"
    if step:
        # The PTX that 12.4 compiles for compute_60 is committed with the step.
        return (arch in (100,) and not newest) or (arch == 120 and newest and not version.startswith("12"))
    if version.startswith("12"):
        return arch in (60, 70) and not (arch == 70 and name not in ("last_block_acq_rel", "votes")) or (
            arch == 90 and name in ("bulk_ring", "cluster", "redux"))
    if version == "13.0":
        return arch == 90
    return arch == 120


if __name__ == "__main__":
    main()
