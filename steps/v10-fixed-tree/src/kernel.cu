// Even parts, as many as the length alone decides: whichever block adds them, the bits are the same.
// Still costs: the end: a fence, a ticket and the partial sums, each waiting for the one before it.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Flight = 8, Block = 512;

// A thread's share of part p: `part` words, and what is left behind the last part's.
__device__ Element add(const Element* in, unsigned long long n, unsigned long long part, unsigned int p)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = p * part + tid, end = min((p + 1) * part, n / Lanes);

    // Load: eight words a thread in every turn, zero beyond the end; then what is left of a word.
    const Word* words = (const Word*)in;
    Word sums = {};
    #pragma unroll 1
    for (; i < end; i += Flight * Block) {
        Word next[Flight] = {};
        for (int k = 0; k < Flight; k++) if (i + k * Block < end) next[k] = words[i + k * Block];
        for (int k = 0; k < Flight; k++) for (int e = 0; e < Lanes; e++) sums.at[e] += next[k].at[e];
    }
    Element sum = end == n / Lanes && tid < n % Lanes ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Lanes; e++) sum += sums.at[e];
    return sum;
}

// Reduce: each warp to one value, then the first warp those values; thread 0 has the sum.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // The last value that was put there has been read.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long part, unsigned int parts,
    Element* partials, unsigned int* tickets)
{
    __shared__ bool last;
    // Store: the sum of each part, then that of all.
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        Element sum = tree(add(in, n, part, p));
        if (threadIdx.x == 0) (parts == 1 ? out : partials)[p] = sum;
    }
    if (parts == 1) return;
    if (threadIdx.x == 0) {
        __threadfence(); // What this block wrote is seen by whoever sees its ticket taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last one sets them to 0 again.
        __threadfence(); // What others wrote before they took theirs is seen from here on.
    }
    __syncthreads();
    if (!last) return;
    Element sum = tree(threadIdx.x < parts ? partials[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
