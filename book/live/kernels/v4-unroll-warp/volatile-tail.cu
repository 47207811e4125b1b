// the last rounds volatile, as in 2007.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
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

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
