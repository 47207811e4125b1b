// A tree in shared memory; the last six rounds are volatile, so the compiler keeps their order.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: one element per thread, zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: with barriers down to 64 values, the rest by the first warp alone.
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        volatile Element* row = shared;
        row[tid] += row[tid + 32];
        row[tid] += row[tid + 16];
        row[tid] += row[tid + 8];
        row[tid] += row[tid + 4];
        row[tid] += row[tid + 2];
        row[tid] += row[tid + 1];
    }

    // Store: the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: `volatile` keeps the rounds in order for one thread, not for its neighbours: `__syncwarp()` does.
