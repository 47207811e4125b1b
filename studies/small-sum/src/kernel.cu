// A sum too small to fill the chip, in four ways: one block, one cluster, a counter, a mailbox.
// Still costs: a launch, and one way to memory and back: no way of adding saves those.
// Needs compute_90: the blocks of a cluster write into each other's shared memory.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Warps = 16, Threads = 32 * Warps, Most = 16 * Warps;

// The sum of a warp's share of the tiles that a block has, in its first lane.
template <unsigned int Words>
__device__ Element warp_sum(const Element* in, unsigned long long n)
{
    const unsigned int tile = Words * Threads * Lanes;
    unsigned int tid = threadIdx.x;
    Element sum = 0;
    for (unsigned long long first = (unsigned long long)blockIdx.x * tile; first < n;
         first += (unsigned long long)gridDim.x * tile) {
        // Load: all words of a tile before the first is added, zero beyond the end.
        Word words[Words] = {};
        if (first + tile <= n && (unsigned long long)in % 16 == 0)
            for (int w = 0; w < Words; w++)
                words[w] = *(const Word*)(in + first + (w * Threads + tid) * Lanes);
        else
            for (int w = 0; w < Words; w++)
                for (int e = 0; e < Lanes; e++) {
                    unsigned long long i = first + (w * Threads + tid) * Lanes + e;
                    if (i < n) words[w].at[e] = in[i];
                }
        for (int s = Words / 2; s > 0; s /= 2)
            for (int w = 0; w < s; w++)
                for (int e = 0; e < Lanes; e++) words[w].at[e] += words[w + s].at[e];
        for (int s = Lanes / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) words[0].at[e] += words[0].at[e + s];
        sum += words[0].at[0];
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Reduce: the sums of a block's warps to one, in thread 0.
__device__ Element block_sum(Element sum)
{
    __shared__ Element sums[Warps];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < Warps ? sums[threadIdx.x] : 0;
        for (int s = Warps / 2; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

// One block does it all.
template <unsigned int Words>
__device__ void block(const Element* in, Element* out, unsigned long long n)
{
    Element sum = block_sum(warp_sum<Words>(in, n));
    if (threadIdx.x == 0) *out = sum;
}

// A cluster: every warp sends its sum to the first block, whose barrier counts the bytes.
template <unsigned int Words>
__device__ void cluster(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element sums[Most];
    __shared__ unsigned long long arrived;
    unsigned int tid = threadIdx.x, slot = blockIdx.x * Warps + tid / 32, count = gridDim.x * Warps;
    unsigned int barrier = (unsigned int)__cvta_generic_to_shared(&arrived);
    if (blockIdx.x == 0 && tid == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(count * (unsigned int)sizeof(Element)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    // That all blocks have started, and the barrier is there, is known once the loads are through.
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    Element sum = warp_sum<Words>(in, n);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (tid % 32 == 0) {
        unsigned int there, first;
        asm("mapa.shared::cluster.u32 %0, %1, 0;"
            : "=r"(there) : "r"((unsigned int)__cvta_generic_to_shared(sums + slot)));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(barrier));
        if (sizeof(Element) == 4)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                         :: "r"(there), "r"(*(unsigned int*)&sum), "r"(first) : "memory");
        else
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];"
                         :: "r"(there), "l"(*(unsigned long long*)&sum), "r"(first) : "memory");
    }
    if (slot > 0 || tid >= 32) return;
    unsigned int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    } while (!done);
    sum = 0;
    for (unsigned int i = tid; i < count; i += 32) sum += sums[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid == 0) *out = sum;
}

// A counter: the block that draws the last ticket adds the partial sums, in their order.
template <unsigned int Words>
__device__ void counter(const Element* in, Element* out, unsigned long long n, Element* partials,
                        unsigned int* tickets)
{
    Element sum = block_sum(warp_sum<Words>(in, n));
    if (threadIdx.x >= 32) return;
    unsigned int ticket = 0;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket) : "l"(tickets), "r"(gridDim.x - 1) : "memory");
    }
    if (__shfl_sync(0xffffffff, ticket, 0) != gridDim.x - 1) return;
    // A shuffle hands over a value and orders no memory: what lane 0 has acquired is acquired for all here.
    __syncwarp();
    sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += 32) sum += partials[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x == 0) *out = sum;
}

// A mailbox: a partial sum and a flag in one store, 32 bits of each. The last block waits for all and
// empties the box. Nobody needs a fence: what the flag announces comes with it.
template <unsigned int Words>
__device__ void mailbox(const Element* in, Element* out, unsigned long long n, unsigned long long* box)
{
    const unsigned int halves = sizeof(Element) / 4;
    union Parts { Element value; unsigned int half[halves]; } parts;
    parts.value = block_sum(warp_sum<Words>(in, n));
    if (threadIdx.x == 0)
        for (int h = 0; h < halves; h++)
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(box + blockIdx.x * halves + h),
                         "l"(1ull << 32 | parts.half[h]) : "memory");
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
    Element sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += 32) {
        for (int h = 0; h < halves; h++) {
            unsigned long long *mail = box + (unsigned long long)i * halves + h, word;
            do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(mail) : "memory");
            while (word >> 32 == 0);
            parts.half[h] = word;
            asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(mail) : "memory");
        }
        sum += parts.value;
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    // Store: the sum.
    if (threadIdx.x == 0) *out = sum;
}

// One entry point for each way and number of words in flight.
#define ENTRY(Words) \
    extern "C" __global__ void __launch_bounds__(Threads) block_##Words( \
        const Element* in, Element* out, unsigned long long n) \
    { block<Words>(in, out, n); } \
    extern "C" __global__ void __launch_bounds__(Threads) cluster_##Words( \
        const Element* in, Element* out, unsigned long long n) \
    { cluster<Words>(in, out, n); } \
    extern "C" __global__ void __launch_bounds__(Threads) counter_##Words( \
        const Element* in, Element* out, unsigned long long n, Element* partials, \
        unsigned int* tickets) \
    { counter<Words>(in, out, n, partials, tickets); } \
    extern "C" __global__ void __launch_bounds__(Threads) mailbox_##Words( \
        const Element* in, Element* out, unsigned long long n, unsigned long long* box) \
    { mailbox<Words>(in, out, n, box); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
