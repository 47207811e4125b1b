// A tree in shared memory, whose last six rounds have no barrier because a warp runs in lockstep.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: use barriers down to 64 values; the first warp alone adds the rest.
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        shared[tid] += shared[tid + 32];
        shared[tid] += shared[tid + 16];
        shared[tid] += shared[tid + 8];
        shared[tid] += shared[tid + 4];
        shared[tid] += shared[tid + 2];
        shared[tid] += shared[tid + 1];
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: lockstep is not guaranteed, and the compiler may reorder the rounds: each needs `__syncwarp()`.
