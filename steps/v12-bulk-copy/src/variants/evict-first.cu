// v12 with copies whose lines are evicted from L2 first, because no thread reads them again.
// Remaining cost: the same as v12's.
// Needs compute_90: bulk copies that complete on an mbarrier.
#include "bulk.cuh"
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Block = 512, Words = sizeof(Element) / 4;
const unsigned long long Stages = 3, PerStage = 4 * Block; // Stages, and vectors per stage.
union Message { Element value; unsigned int word[Words]; };
extern __shared__ __align__(128) Vector ring[];
__shared__ Barrier full[Stages];

// Like `copy`, but with an L2 cache hint.
__device__ void copy_once(void* to, const void* from, unsigned int bytes, Barrier* barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(address(barrier)), "r"(bytes) : "memory");
    asm volatile("{ .reg .b64 once; createpolicy.fractional.L2::evict_first.b64 once, 1.0;"
                 " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1], %2, [%3], once; }"
                 :: "r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

// Returns a thread's sum over chunk c of `size` vectors; the last chunk has n % Width more elements.
// `done` counts the stages that the block has added so far.
__device__ Element add(const Element* in, unsigned long long n, unsigned long long size, unsigned int c,
                       unsigned int& done)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = c * size, end = min((c + 1) * size, n / Width);

    // Load: read one stage per iteration, with two more in flight; then the last n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Vector sums = {};
    auto fill = [&](unsigned int ahead) {
        unsigned long long from = i + ahead * PerStage;
        unsigned int stage = (done + ahead) % Stages;
        if (tid == 0 && from < end)
            copy_once(ring + stage * PerStage, vectors + from, min(end - from, PerStage) * 16,
                      full + stage);
    };
    for (unsigned int ahead = 0; ahead < Stages - 1; ahead++) fill(ahead);
    #pragma unroll 1
    for (; i < end; i += PerStage, done++) {
        __syncthreads(); // All threads have added the previous stage, so it can be refilled.
        fill(Stages - 1);
        wait(full + done % Stages, done / Stages % 2);
        const Vector* stage = ring + done % Stages * PerStage + tid;
        for (unsigned int k = 0; k < PerStage; k += Block) if (i + k + tid < end)
            for (int e = 0; e < Width; e++) sums.data[e] += stage[k].data[e];
    }
    Element sum = end == n / Width && tid < n % Width ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Width; e++) sum += sums.data[e];
    return sum;
}

// Reduce: each warp combines its values; then the first warp combines the warps' sums in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All threads have read the previous tree's values.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

// Publishes a value: each store writes 32 bits and a flag, which shows that the bits have arrived.
__device__ void publish(unsigned long long* slot, Element value)
{
    Message message = {value};
    for (int w = 0; w < Words; w++) atomicExch(slot + w, 1ull << 32 | message.word[w]);
}

// Polls until the flags of a value are set, clears them, and returns the value.
__device__ Element consume(unsigned long long* slot)
{
    Message message;
    for (int w = 0; w < Words; w++) {
        unsigned long long seen;
        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);
        message.word[w] = (unsigned int)seen;
    }
    return message.value;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long size, unsigned int chunks,
    unsigned long long* slots)
{
    Element sum = 0;
    unsigned int done = 0;
    if (threadIdx.x < Stages) init(full + threadIdx.x);
    __syncthreads();
    // Store: write the sum of each chunk, then the total.
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        sum = tree(add(in, n, size, c, done));
        if (threadIdx.x == 0 && chunks > 1) publish(slots + c * Words, sum);
    }
    if (blockIdx.x < gridDim.x - 1) return;
    if (chunks > 1) sum = tree(threadIdx.x < chunks ? consume(slots + threadIdx.x * Words) : 0);
    if (threadIdx.x == 0) *out = sum;
}
