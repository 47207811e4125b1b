"""v0 in numba's CUDA simulator: 2^12 elements, in wall-clock and processor seconds."""

import os
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy
from numba import cuda, float32

BLOCK = 256
N = 1 << 12


@cuda.jit
def reduce(values, out, n):
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + tid
    shared[tid] = values[i] if i < n else 0
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if tid % (2 * s) == 0:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s *= 2
    if tid == 0:
        out[cuda.blockIdx.x] = shared[0]


values, out = numpy.ones(N, numpy.float32), numpy.zeros(N // BLOCK, numpy.float32)
start, cpu = time.perf_counter(), time.process_time()
reduce[N // BLOCK, BLOCK](values, out, N)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
assert out.sum() == N, out.sum()
print(f"{seconds:.3f} {cpu:.3f}")
