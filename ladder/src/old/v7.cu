// Every thread adds many elements, four 16-byte loads in flight, in a grid that just fills the chip.
// Still costs: a second launch, for the partial sums: a middle size waits for it as long as for this.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };

template <unsigned int Block>
__device__ void reduce(const Element* __restrict__ in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * Block + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * Block;

    // Load: four words at a time, zero beyond the end; single elements on either side of the words.
    const unsigned int lanes = 16 / sizeof(Element);
    unsigned long long head = -(unsigned long long)in % 16 / sizeof(Element);
    if (head > n) head = n;
    const Word* words = (const Word*)(in + head);
    unsigned long long count = (n - head) / lanes, tail = head + count * lanes;
    Word sums = {};
    for (unsigned long long w = i; w < count; w += 4 * stride) {
        Word next[4] = {};
        for (int k = 0; k < 4; k++) if (w + k * stride < count) next[k] = words[w + k * stride];
        for (int k = 0; k < 4; k++) for (int e = 0; e < lanes; e++) sums.at[e] += next[k].at[e];
    }
    Element sum = (i < head ? in[i] : 0) + (i < n - tail ? in[tail + i] : 0);
    for (int e = 0; e < lanes; e++) sum += sums.at[e];

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

// One entry point for each block size: the host picks the one that it launches.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 2048 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
