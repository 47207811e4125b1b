// The upper half is added to the lower half, which is larger if the number of values is odd.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int left = blockDim.x; left > 1; ) {
        unsigned int half = (left + 1) / 2;
        if (tid + half < left) {
            shared[tid] += shared[tid + half];
        }
        left = half;
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
