// The block size is a template parameter, so the compiler knows all rounds.
// Write the paragraph Reduce, without a loop at run time.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);
    __syncthreads();

    // Reduce: combine the block's elements into one.
    // Your code goes here: it must work for Block = 64, 128, 256, 512 and 1024.

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

// There is one entry point for each block size; the host chooses the one to launch.
#define ENTRY(Block) \
    extern "C" __global__ void reduce_##Block(const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
