// The same additions, but by neighbouring lanes, so that whole warps are either active or idle.
// Remaining cost: bank conflicts, because a warp's lanes access shared memory with a stride.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[blockDim.x - 1 - tid] = 0; __syncthreads(); if (i < n) shared[tid] = in[i];
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int left = 2 * s * tid;
        if (left < blockDim.x) {
            shared[left] += shared[left + s];
        }
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
