// A learner's edit of v2: each iteration computes the round's distance by a division.
// Remaining cost: a division, which takes many machine instructions.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int d = 2, s = blockDim.x / d; s > 0; d *= 2, s = blockDim.x / d) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
