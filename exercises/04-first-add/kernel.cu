// A block adds 2 * blockDim.x elements: every thread loads two of them and adds them before it stores.
// Write the computation of the index, and the paragraph Load.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;

    // Load: read two elements per thread, or zero beyond the end.
    // Your code goes here: at its end, shared[tid] holds the sum of two elements of this block.
    shared[tid] = 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
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
