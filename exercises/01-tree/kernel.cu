// A block adds its elements in a tree: the sum of block b is stored in out[b].
// Write the paragraph Reduce. The block size is a power of two from 64 to 1024.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    // Your code goes here: at its end, shared[0] holds the sum of the block.

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
