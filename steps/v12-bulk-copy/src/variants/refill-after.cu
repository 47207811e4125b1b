// v12 with a stage that is copied again once it was added, and not while the next one is.
// Still costs: what v12 costs: each copy waits for the same barrier, one turn of the loop earlier.
// Needs compute_90: bulk copies that complete on an mbarrier.
#include "bulk.cuh"
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Block = 512, Halves = sizeof(Element) / 4;
const unsigned long long Stage = 4 * Block, Stages = 3; // Words of a stage, and stages of the ring.
union Mail { Element value; unsigned int half[Halves]; };
extern __shared__ __align__(128) Word ring[];
__shared__ Barrier full[Stages];

// A thread's share of part p: `part` words, and what is left behind the last part's. `turn` counts the
// stages that the block has added so far.
__device__ Element add(const Element* in, unsigned long long n, unsigned long long part, unsigned int p,
                       unsigned int& turn)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = p * part, end = min((p + 1) * part, n / Lanes);

    // Load: a stage in every turn, the next two on their way; then what is left of a word.
    const Word* words = (const Word*)in;
    Word sums = {};
    auto fill = [&](unsigned int ahead) {
        unsigned long long from = i + ahead * Stage;
        unsigned int slot = (turn + ahead) % Stages;
        if (tid == 0 && from < end)
            copy(ring + slot * Stage, words + from, min(end - from, Stage) * 16, full + slot);
    };
    for (unsigned int ahead = 0; ahead < Stages; ahead++) fill(ahead);
    #pragma unroll 1
    for (; i < end; i += Stage, turn++) {
        wait(full + turn % Stages, turn / Stages % 2);
        for (unsigned int w = 0; w < Stage; w += Block) if (i + w + tid < end)
            for (int e = 0; e < Lanes; e++) sums.at[e] += ring[turn % Stages * Stage + w + tid].at[e];
        __syncthreads(); // All have added this stage: its place in the ring is free.
        fill(Stages);
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

// Puts a value into its box, 32 bits and a flag at once: whoever sees the flag has the bits.
__device__ void post(unsigned long long* box, Element value)
{
    Mail mail = {value};
    for (int h = 0; h < Halves; h++) atomicExch(box + h, 1ull << 32 | mail.half[h]);
}

// Waits for the flag of a value, and takes it down.
__device__ Element take(unsigned long long* box)
{
    Mail mail;
    for (int h = 0; h < Halves; h++) {
        unsigned long long word;
        do word = atomicAnd(box + h, 0xffffffff); while (word >> 32 == 0);
        mail.half[h] = (unsigned int)word;
    }
    return mail.value;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long part, unsigned int parts,
    unsigned long long* boxes)
{
    Element sum = 0;
    unsigned int turn = 0;
    if (threadIdx.x < Stages) init(full + threadIdx.x);
    __syncthreads();
    // Store: the sum of each part, then that of all.
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        sum = tree(add(in, n, part, p, turn));
        if (threadIdx.x == 0 && parts > 1) post(boxes + p * Halves, sum);
    }
    if (blockIdx.x < gridDim.x - 1) return;
    if (parts > 1) sum = tree(threadIdx.x < parts ? take(boxes + threadIdx.x * Halves) : 0);
    if (threadIdx.x == 0) *out = sum;
}
