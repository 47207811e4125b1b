"""Two timers. The device's timer has events around a call whose launches are queued before the GPU may start, so
that launch latency is hidden. The host's timer measures from the call until the result is on the host."""

import ctypes
import time

import torch

# The duration of the untimed calls before each sample, in nanoseconds.
SETTLE = 100_000


class Gate:
    """Holds back a stream until a word of host memory has a given value."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.value, self.address, word = 0, ctypes.c_uint64(), ctypes.c_void_p()
        # The flags 3 are CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP.
        check(self.lib.cuMemHostAlloc(ctypes.byref(word), ctypes.c_size_t(4), 3))
        check(self.lib.cuMemHostGetDevicePointer_v2(ctypes.byref(self.address), word, 0))
        self.word = ctypes.cast(word, ctypes.POINTER(ctypes.c_uint32))
        self.word[0] = 0

    def close(self, stream):
        self.value += 1
        wait = self.lib.cuStreamWaitValue32_v2
        check(wait(ctypes.c_void_p(stream), self.address, ctypes.c_uint32(self.value), 1))

    def open(self):
        self.word[0] = self.value


def check(code):
    if code:
        raise RuntimeError(f"the CUDA driver returned error {code}")


class Device:
    """The device's timer. All calls must be on torch's current stream."""

    name = "gpu"

    def __init__(self, gate):
        self.gate = gate
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def sample(self, call, before):
        for _ in range(before):
            call()
        self.gate.close(torch.cuda.current_stream().cuda_stream)
        try:
            self.start.record()
            call()
            self.end.record()
        finally:
            self.gate.open()
        self.end.synchronize()
        return max(1, round(self.start.elapsed_time(self.end) * 1e6))


class Host:
    """The host's timer."""

    name = "host"

    def sample(self, call, before):
        for _ in range(before):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - start


def rounds(clock, calls, count):
    """Yields a sample (name, round, ns) for each call in each round; every other round runs in reverse order."""
    for call in calls.values():
        # The first calls compile and allocate, so they are made before the samples.
        for _ in range(2):
            call()
            torch.cuda.synchronize()
    settle = {name: max(1, min(16, SETTLE // clock.sample(call, 1))) for name, call in calls.items()}
    for number in range(count):
        for name in list(calls)[:: 1 if number % 2 == 0 else -1]:
            yield name, number, clock.sample(calls[name], settle[name])


def cycle(values):
    """Returns a function that returns the values in rotation, so that no input is still in a cache."""
    at = -1

    def next_one():
        nonlocal at
        at = (at + 1) % len(values)
        return values[at]

    return next_one
