// One cluster: every warp sends its sum to the first block, whose barrier counts the bytes.
// Still costs: sixteen multiprocessors at the most.
// Needs compute_90: the blocks of a cluster write into each other's shared memory.
#include "tile.cuh"

const unsigned int Most = 16 * Warps;

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
        // From the whole cluster: what a wait acquires by itself is from its own block.
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    } while (!done);
    sum = 0;
    for (unsigned int i = tid; i < count; i += 32) sum += sums[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid == 0) *out = sum;
}

// One entry point for each number of words in flight.
#define ENTRY(Words) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Words( \
        const Element* in, Element* out, unsigned long long n) \
    { cluster<Words>(in, out, n); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
