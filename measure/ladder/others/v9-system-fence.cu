// One launch is enough: the block that finishes last adds all partial sums.
// Remaining cost: bits that differ between GPUs, because the order of additions depends on the grid.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 8;

template <unsigned int Block>
__device__ void add(const Element* in, Element* out, unsigned long long n, unsigned int b,
                    unsigned int blocks)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)b * (Loads * Block) + tid;
    unsigned long long stride = (unsigned long long)blocks * (Loads * Block);

    // Load: read eight vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Vector sums = {};
    #pragma unroll 1
    for (; i < n / Width; i += stride) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < n / Width) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) sums.data[e] += next[k].data[e];
    }
    Element sum = b == 0 && tid < n % Width ? in[n - 1 - tid] : 0;
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
        out[b] = sum;
    }
}

// A call of add replaces the second launch; the block with the last ticket makes this call.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, Element* partials,
                       unsigned int* tickets)
{
    __shared__ bool last;
    add<Block>(in, gridDim.x == 1 ? out : partials, n, blockIdx.x, gridDim.x);
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
        __threadfence_system(); // This block's partial sum is visible before its ticket is taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last block resets the counter.
        __threadfence(); // The partial sums of all earlier tickets are visible from here on.
    }
    __syncthreads();
    if (last) add<Block>(partials, out, gridDim.x, 0, 1);
}

// There is one entry point for each block size; the host chooses the one to launch.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n, Element* partials, \
        unsigned int* tickets) \
    { reduce<Block>(in, out, n, partials, tickets); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
