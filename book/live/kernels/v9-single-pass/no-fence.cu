// without the fences.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Flight = 8;

template <unsigned int Block>
__device__ void add(const Element* in, Element* out, unsigned long long n, unsigned int b,
                    unsigned int blocks)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)b * (Flight * Block) + tid;
    unsigned long long stride = (unsigned long long)blocks * (Flight * Block);

    // Load: eight words a thread in every turn, zero beyond the end; then what is left of a word.
    const Word* words = (const Word*)in;
    Word sums = {};
    #pragma unroll 1
    for (; i < n / Lanes; i += stride) {
        Word next[Flight] = {};
        for (int k = 0; k < Flight; k++) if (i + k * Block < n / Lanes) next[k] = words[i + k * Block];
        for (int k = 0; k < Flight; k++) for (int e = 0; e < Lanes; e++) sums.at[e] += next[k].at[e];
    }
    Element sum = b == 0 && tid < n % Lanes ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Lanes; e++) sum += sums.at[e];

    // Reduce: each warp to one value, then the first warp those values.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }

    // Store: the block's partial sum.
    if (tid == 0) {
        out[b] = sum;
    }
}

// The second launch is a call now, which the block that takes the last ticket makes.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, Element* partials,
                       unsigned int* tickets)
{
    __shared__ bool last;
    add<Block>(in, gridDim.x == 1 ? out : partials, n, blockIdx.x, gridDim.x);
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last one sets them to 0 again.
    }
    __syncthreads();
    if (last) add<Block>(partials, out, gridDim.x, 0, 1);
}

// One entry point for each block size: the host picks the one that it launches.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n, Element* partials, \
        unsigned int* tickets) \
    { reduce<Block>(in, out, n, partials, tickets); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
