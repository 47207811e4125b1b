// v8 with four loads of 16 bytes in flight in every thread.
// Still costs: a second launch, for the partial sums: a middle size waits for it as long as for this.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Flight = 4;

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (Flight * Block) + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * (Flight * Block);

    // Load: four words a thread in every turn, zero beyond the end; then what is left of a word.
    const Word* words = (const Word*)in;
    Word sums = {};
    #pragma unroll 1
    for (; i < n / Lanes; i += stride) {
        Word next[Flight] = {};
        for (int k = 0; k < Flight; k++) if (i + k * Block < n / Lanes) next[k] = words[i + k * Block];
        for (int k = 0; k < Flight; k++) for (int e = 0; e < Lanes; e++) sums.at[e] += next[k].at[e];
    }
    Element sum = blockIdx.x == 0 && tid < n % Lanes ? in[n - 1 - tid] : 0;
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
        out[blockIdx.x] = sum;
    }
}

#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(256)
