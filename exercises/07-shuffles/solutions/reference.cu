// Lanes of a warp add their sums by shuffles; shared memory holds one value per warp.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    Element sum = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);

    // Reduce: each warp combines its values; then the first warp combines the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }

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
