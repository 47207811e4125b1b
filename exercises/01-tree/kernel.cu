// A block adds its elements in a tree: the sum of block b is stored at out[b].
// Yours: the paragraph Reduce. A block has 64 to 1024 threads, a power of two.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: one element per thread, zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: the block's elements to one.
    // Write it here: at its end, shared[0] holds the sum of the block.

    // Store: the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
