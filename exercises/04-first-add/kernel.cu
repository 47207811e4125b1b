// A block adds 2 * blockDim.x elements: every thread loads two of them and adds them before it stores.
// Yours: the index and the paragraph Load.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;

    // Load: two elements per thread, zero beyond the end.
    // Write it here: shared[tid] holds the sum of two elements of this block.
    shared[tid] = 0;
    __syncthreads();

    // Reduce: the block's elements to one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }

    // Store: the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
