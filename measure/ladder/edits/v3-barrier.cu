// A learner's edit of v3: a second barrier in each round.
// Remaining cost: a second barrier, which orders nothing that the first one has not already ordered.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
