// Neighbours are added first, then pairs of neighbours, then pairs of pairs.
// Remaining cost: the slow operator `%`, and mostly idle lanes in every warp.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        if (tid % (2 * s) == 0) {
            shared[tid] += shared[tid + s];
        }
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
