// A tree in shared memory; its last six rounds are volatile, so the compiler keeps their order.
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
        volatile Element* row = shared;
        row[tid] += row[tid + 32];
        row[tid] += row[tid + 16];
        row[tid] += row[tid + 8];
        row[tid] += row[tid + 4];
        row[tid] += row[tid + 2];
        row[tid] += row[tid + 1];
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: `volatile` orders the rounds within one thread only; between threads, `__syncwarp()` does.
