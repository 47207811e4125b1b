// The last lane gets the sum of its warp, and the first warp adds these sums.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    Element sum = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);

    unsigned int lane = tid % 32, warp = tid / 32;
    for (int s = 1; s < 32; s *= 2) {
        Element other = __shfl_up_sync(0xffffffff, sum, s);
        if (lane >= s) sum += other;
    }
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < Block / 32 ? shared[lane] : 0;
        for (int s = 1; s < 32; s *= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (lane == 0) out[blockIdx.x] = sum;
    }
}

// There is one entry point for each block size; the host chooses the one to launch.
#define ENTRY(Block) \
    extern "C" __global__ void reduce_##Block(const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
