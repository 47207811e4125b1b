// Every lane gets the sum of its warp, so any lane can store it.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    Element sum = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);

    for (int mask = 1; mask < 32; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (tid % 32 == 31) shared[tid / 32] = sum;
    __syncthreads();
    if (tid >= 32) return;
    sum = tid < Block / 32 ? shared[tid] : 0;
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = sum;
    }
}

// There is one entry point for each block size; the host chooses the one to launch.
#define ENTRY(Block) \
    extern "C" __global__ void reduce_##Block(const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
