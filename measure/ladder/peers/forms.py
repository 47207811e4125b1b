"""Launches the kernels that the example `forms` writes, compares their results with the host's bits, and times them
beside torch, CuPy and CUB.

    cargo run --release -p samebits --example forms -- FOLDER
    python3 peers/forms.py FOLDER --out results/forms/RUN [--peers libforms.so] [--rounds 20]
    compute-sanitizer --tool racecheck python3 peers/forms.py FOLDER --only-bits --most 2^21
    ncu --csv --clock-control none --cache-control none --kernel-name 'regex:^(f32|f64|bf16|i8)_' \\
        --metrics $(python3 peers/exact_counters.py --metrics) python3 peers/forms.py FOLDER --once > ncu.csv
    python3 peers/exact_counters.py --table ncu.csv

A result whose bits are not in FOLDER is compared with that of the module `samebits` on the host. The times are those
of the GPU: a stream is held back until a sample is queued. In each round, each way runs once, and every second round
runs in reverse order. Inputs rotate through copies of 256 MiB in total, but at most 1024 copies.
"""

import argparse
import ctypes
import gzip
import math
import os
import sys
import warnings

import cupy as cp
import numpy as np
import torch

PERIOD = 1_048_583
POOL = 1 << 28
# Cycles for which the stream is held back: about a millisecond.
HELD = 2_000_000
# A way that takes longer, in seconds, has fewer rounds.
SLOW = 0.1
TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32}


def drawn(kind, n, begin=0):
    """Returns the elements that the example draws, on the device."""
    hashed = np.arange(PERIOD, dtype=np.uint32) * np.uint32(2_654_435_761)
    floats = (hashed >> np.uint32(9)).astype(np.float32) / np.float32(8_388_608) - np.float32(0.5)
    values = {
        "f32": lambda: floats,
        "f64": lambda: floats.astype(np.float64),
        "bf16": lambda: (floats.view(np.uint32) >> np.uint32(16)).astype(np.uint16).view(np.int16),
        "i8": lambda: (hashed >> np.uint32(24)).astype(np.uint8).view(np.int8),
        "i32": lambda: hashed.view(np.int32),
    }[kind]()
    table = torch.from_numpy(np.roll(values, -begin)).cuda()
    if kind == "bf16":
        table = table.view(torch.bfloat16)
    x = torch.empty(n, dtype=TYPES[kind], device="cuda")
    done = min(PERIOD, n)
    x[:done] = table[:done]
    while done < n:
        more = min(done, n - done)
        x[done : done + more] = x[:more]
        done += more
    return x


def aligned(x, count):
    """Returns copies whose addresses are multiples of 16 bytes."""
    if count == 1:
        return [x]
    width = 16 // x.element_size()
    pool = torch.empty((count, -(-x.numel() // width) * width), dtype=x.dtype, device="cuda")
    pool[:, : x.numel()] = x
    return [row[: x.numel()] for row in pool]


class Case:
    """A case of the example: its launches, and their memory."""

    def __init__(self, folder, line):
        self.folder, self.lines = folder, [line.split()]
        self.name, self.bits = self.lines[0][0], self.lines[0][6]
        self.form, self.kind, self.size = self.name.split("/")
        inputs = self.lines[0][5].split(";")[0].split("+")
        self.lengths = [int(part.split(":")[1]) for part in inputs]
        self.bytes = sum(self.lengths) * TYPES[self.kind].itemsize

    def numbers(self):
        """The dimensions in the name, or nothing for lists and ragged rows."""
        parts = self.size.split("x")
        return [int(part) for part in parts] if all(part.isdigit() for part in parts) else []

    def is_timed(self):
        numbers = self.numbers()
        if self.form in ("argmax", "min_max", "dot"):
            return numbers[-1] == math.prod(numbers) >= 1024
        if numbers:
            return all(n & (n - 1) == 0 for n in numbers)
        return self.size not in ("small", "mixed")

    def prepare(self):
        """Allocates the memory and loads the kernels."""
        self.copies, self.at = 1, 0
        if self.numbers():
            self.copies = max(1, min(1024, POOL // self.bytes))
        self.pools = [aligned(drawn(self.kind, n, 77 * i), self.copies) for i, n in enumerate(self.lengths)]
        self.state = torch.zeros(max(8, int(self.lines[0][4])), dtype=torch.uint8, device="cuda")
        self.outs, self.kept = [], {}
        self.launches = []
        for _, kernel, grid, threads, _, what, _ in self.lines:
            module = cp.RawModule(path=os.path.join(self.folder, kernel + ".ptx"))
            function = module.get_function(kernel)
            blocks = int(grid.lstrip("~"))
            if grid.startswith("~"):
                pointer = getattr(function, "kernel", function).ptr
                most = cp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, int(threads), 0)
                blocks = min(blocks, most * torch.cuda.get_device_properties(0).multi_processor_count)
            words = what.split(";")[1].split(",")
            values = [self.value(word) for word in words]
            # The places of the inputs, which rotate.
            inputs = [(k, int(word[2:])) for k, word in enumerate(words) if word[:2] == "in"]
            self.launches.append((function, blocks, int(threads), values, inputs))
        torch.cuda.synchronize()

    def free(self):
        self.pools = self.state = self.outs = self.kept = self.launches = None

    def value(self, word):
        """Returns an argument of a kernel."""
        word, _, more = word.partition(":")
        if word in ("u32", "u64"):
            return (np.uint32 if word == "u32" else np.uint64)(int(more))
        if word == "null":
            return np.uint64(0)
        if word == "items":
            words = np.fromfile(os.path.join(self.folder, more), np.uint64)
            if more.endswith(".items"):
                # Six words for each item; the first is an address.
                words = words.reshape(-1, 6)
                words[:, 0] += np.uint64(self.pools[0][0].data_ptr())
            self.kept["items"] = torch.from_numpy(words.view(np.int64)).cuda()
            return np.uint64(self.kept["items"].data_ptr())
        if word in ("room", "zero"):
            if word not in self.kept:
                self.kept[word] = torch.zeros(int(more or 8), dtype=torch.uint8, device="cuda")
            return np.uint64(self.kept[word].data_ptr())
        if word.startswith("state"):
            return np.uint64(self.state.data_ptr() + int(word[6:] or 0))
        if word.startswith("out"):
            if word[3:]:
                self.outs.append(torch.full((int(word[3:]),), 0xFF, dtype=torch.uint8, device="cuda"))
            return np.uint64(self.outs[-1 if word[3:] else 0].data_ptr())
        if word.startswith("in"):
            return np.uint64(self.pools[int(word[2:])][0].data_ptr())
        raise ValueError(f"{self.name} has an argument {word!r}, which is not known")

    def next(self):
        """Returns the number of the next copy."""
        self.at = (self.at + 1) % self.copies
        return self.at

    def inputs(self):
        """Returns the next copy of each input."""
        at = self.next()
        return [pool[at] for pool in self.pools]

    def __call__(self):
        inputs = self.inputs()
        for function, blocks, threads, values, places in self.launches:
            for place, k in places:
                values[place] = np.uint64(inputs[k].data_ptr())
            function((blocks,), (threads,), tuple(values))

    def found(self):
        """Runs the case, and returns the bytes of each result."""
        for out in self.outs:
            out.fill_(0xFF)
        self()
        torch.cuda.synchronize()
        return [out.cpu().numpy().tobytes() for out in self.outs]

    def slices(self, x):
        """Returns the slices of a list, as parts of an input."""
        words = self.kept["items"].cpu().numpy()
        seen = {}
        for at, n, index in words[:, :3].tolist():
            begin = (at - self.pools[0][0].data_ptr()) // x.element_size()
            seen.setdefault(index, x[begin : begin + n])
        return [seen[index] for index in sorted(seen)]

    def matrix(self, x):
        return x.view(self.numbers())

    def expected(self):
        """Returns the bytes of the results on the host, or None in place of one that is not compared."""
        import samebits

        xs = [pool[0].cpu() for pool in self.pools]
        results = {
            "argmax": lambda: (None, samebits.argmax(self.matrix(xs[0]), axis=-1)),
            "min_max": lambda: samebits.min_max(self.matrix(xs[0]), axis=-1),
            "dot": lambda: (samebits.dot(*xs),),
            "columns": lambda: (samebits.sum(self.matrix(xs[0]), axis=0),),
            "moments": lambda: samebits.moments(self.matrix(xs[0]), -1, ddof=1),
            "log_sum_exp": lambda: (samebits.log_sum_exp(self.matrix(xs[0]), -1),),
            "list": lambda: samebits.foreach(self.slices(xs[0]), "norm"),
            "ragged": lambda: (samebits.ragged(xs[0], self.kept["items"].cpu()),),
        }[self.form]()
        return [x if x is None else x.contiguous().numpy().tobytes() for x in results]

    def is_right(self):
        """Compares twice, since the first run must leave the state as it was."""
        expected = [bytes.fromhex(part) for part in self.bits.split(",")] if self.bits != "-" else self.expected()
        for _ in range(2):
            found = self.found()
            if any(one is not None and one != other for one, other in zip(expected, found, strict=True)):
                return False
        return True


class Cub:
    """CUB's functions in libforms.so."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.forms_version.restype = ctypes.c_char_p
        self.scratch = torch.empty(1 << 26, dtype=torch.uint8, device="cuda")
        self.out = torch.empty(1 << 21, dtype=torch.int64, device="cuda")

    def call(self, function, *numbers):
        room = ctypes.c_size_t(self.scratch.numel())
        code = function(
            *(ctypes.c_int64(n) for n in numbers),
            ctypes.c_void_p(self.scratch.data_ptr()),
            ctypes.byref(room),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if code:
            raise RuntimeError(f"CUB returned error {code}")

    def argmax(self, x):
        at = self.out.data_ptr()
        self.call(self.lib.forms_argmax, x.element_size(), x.data_ptr(), x.numel(), at, at + 64)

    def ragged(self, x, offsets):
        self.call(self.lib.forms_ragged, x.data_ptr(), offsets.data_ptr(), offsets.numel() - 1, self.out.data_ptr())


def ways(case, cub):
    """Returns the functions that are compared, by name. `sum` is our sum of the same bytes."""
    one, form, found = lambda: case.inputs()[0], case.form, {"samebits": case}
    try:
        import samebits

        if form == "dot":
            both = aligned(drawn(case.kind, 2 * case.lengths[0]), case.copies)
            found["sum"] = lambda: samebits.sum(both[case.next()])
        else:
            found["sum"] = lambda: samebits.sum(one())
    except ImportError as error:
        print(f"without our sum: {error}", file=sys.stderr)
    arrays = [cp.from_dlpack(x) for x in case.pools[0]] if case.kind != "bf16" else []
    if form == "argmax":
        found["torch.argmax"] = lambda: torch.argmax(one())
        if case.kind != "bf16":
            found["cupy.argmax"] = lambda: cp.argmax(arrays[case.next()])
        if cub and case.kind in ("f32", "bf16", "i8"):
            found["CUB"] = lambda: cub.argmax(one())
    elif form == "min_max":
        found["torch.aminmax"] = lambda: torch.aminmax(one())
    elif form == "dot":
        found["torch.dot"] = lambda: torch.dot(*case.inputs())
    elif form == "columns":
        found["torch.sum"] = lambda: torch.sum(case.matrix(one()), 0)
        if case.kind != "bf16":
            found["cupy.sum"] = lambda: cp.sum(arrays[case.next()].reshape(case.numbers()), 0)
    elif form == "moments":
        found["torch.var_mean"] = lambda: torch.var_mean(case.matrix(one()), 1)
        torch.compiler.reset()
        compiled = torch.compile(lambda x: torch.var_mean(x, 1), dynamic=False)
        found["torch.compile"] = lambda: compiled(case.matrix(one()))
    elif form == "log_sum_exp":
        found["torch.logsumexp"] = lambda: torch.logsumexp(case.matrix(one()), 1)
    elif form == "list":
        slices = case.slices(case.pools[0][0])
        norm = torch.linalg.vector_norm
        found["torch._foreach_norm"] = lambda: norm(torch.stack(torch._foreach_norm(slices)))
        found["torch, a loop"] = lambda: norm(torch.stack([norm(x) for x in slices]))
    elif form == "ragged":
        offsets = case.kept["items"]
        found["torch.segment_reduce"] = lambda: torch.segment_reduce(one(), "sum", offsets=offsets, unsafe=True)
        if cub:
            found["CUB"] = lambda: cub.ragged(one(), offsets)
    return found


def sample(call):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(HELD)
    start.record()
    call()
    end.record()
    end.synchronize()
    return max(1, round(start.elapsed_time(end) * 1e6))


def measure(case, cub, rounds):
    """Yields the samples of a case: way, round and nanoseconds."""
    runs = ways(case, cub)
    for name, call in list(runs.items()):
        try:
            call()
            torch.cuda.synchronize()
            call()
            if sample(call) > SLOW * 1e9:
                rounds = 3
        except Exception as error:
            print(f"{case.name}: without {name}: {str(error).splitlines()[0]}", file=sys.stderr)
            del runs[name]
    for number in range(rounds):
        for name in list(runs)[:: 1 if number % 2 == 0 else -1]:
            yield name, number, sample(runs[name])


def interval(ratios):
    """Returns the median and the bounds of its interval of 95 %, from the ranks of the binomial distribution."""
    ratios = sorted(ratios)
    n, tail, below = len(ratios), 0.0, 0
    while tail + math.comb(n, below) / 2**n <= 0.025:
        tail += math.comb(n, below) / 2**n
        below += 1
    low = max(0, below - 1)
    return median(ratios), ratios[low], ratios[n - 1 - low]


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def line_of(case, samples):
    """Returns a line of the table: our time and bandwidth, and the ratio of each other way's time to ours."""
    times = {}
    for name, number, ns in samples:
        times.setdefault(name, {})[number] = ns
    ours = times.pop("samebits")
    ns = median(ours.values())
    words = [f"{case.name:28} {ns / 1000:10.2f} us {case.bytes / ns:7.0f} GB/s"]
    for name, theirs in times.items():
        middle, low, high = interval([theirs[number] / ours[number] for number in ours])
        words.append(f"{name} {median(theirs.values()) / 1000:.2f} us {middle:.3f} [{low:.3f}, {high:.3f}]")
    return " | ".join(words)


def cases(folder, most):
    found = []
    with open(os.path.join(folder, "cases.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("ragged2/"):
                found[-1].lines.append(line.split())
            else:
                found.append(Case(folder, line))
    return [case for case in found if case.bytes <= most]


def power(text):
    base, _, exponent = text.partition("^")
    return int(base) ** int(exponent or 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--out", help="the folder for forms.csv.gz and tables.txt")
    parser.add_argument("--peers", help="libforms.so, which is compiled from forms.cu")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--most", type=power, default=1 << 40, help="the largest number of bytes of a case")
    parser.add_argument("--only", default="", help="the beginnings of the names of cases, with commas")
    parser.add_argument("--only-bits", action="store_true")
    parser.add_argument("--once", action="store_true", help="launch each case of at least 2^28 bytes once, for ncu")
    args = parser.parse_args()
    cub = Cub(args.peers) if args.peers else None
    samples, lines, compared, wrong = [], [], 0, []
    with torch.cuda.stream(torch.cuda.Stream()):
        # CuPy launches on torch's stream.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
        for case in cases(args.folder, args.most):
            if not case.name.startswith(tuple(args.only.split(","))) or (args.only_bits and case.bits == "-"):
                continue
            if args.once and (case.bytes < POOL or not case.is_timed()):
                continue
            case.prepare()
            if args.once:
                print("".join(f"RUN,{line[1]},{case.size}\n" for line in case.lines), end="", flush=True)
                case()
                torch.cuda.synchronize()
                case.free()
                continue
            compared += 1
            if not case.is_right():
                wrong.append(case.name)
                print(f"{case.name}: other bits than on the host", flush=True)
            elif case.is_timed() and not args.only_bits:
                taken = list(measure(case, cub, args.rounds))
                samples += [(case.name, *one) for one in taken]
                lines.append(line_of(case, taken))
                print(lines[-1], flush=True)
            case.free()
    words = [f"{compared} cases have been compared with the host, bit by bit:", f"{len(wrong)} differ", *wrong]
    lines.append(" ".join(words))
    print(lines[-1])
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        with gzip.open(os.path.join(args.out, "forms.csv.gz"), "wt") as file:
            file.write("case,way,round,ns\n")
            file.writelines(f'{name},"{way}",{number},{ns}\n' for name, way, number, ns in samples)
        with open(os.path.join(args.out, "tables.txt"), "w", encoding="utf-8") as file:
            if cub:
                file.write(f"CUB: {cub.lib.forms_version().decode()}\n")
            file.writelines(line + "\n" for line in lines)
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()
