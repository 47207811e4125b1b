// v8 with two loads of 16 bytes in flight in each thread.
// Remaining cost: a second launch for partial sums, which takes much of the time at medium sizes.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 2;

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (Loads * Block) + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * (Loads * Block);

    // Load: read two vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Vector sums = {};
    #pragma unroll 1
    for (; i < n / Width; i += stride) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < n / Width) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) sums.data[e] += next[k].data[e];
    }
    Element sum = blockIdx.x == 0 && tid < n % Width ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Width; e++) sum += sums.data[e];

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

#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(256)
