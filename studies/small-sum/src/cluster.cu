// In one cluster, every warp stores its sum in the first block, whose mbarrier counts the bytes.
// Remaining cost: unused memory bandwidth, because at most sixteen multiprocessors read.
// Needs compute_90: the blocks in a cluster write to each other's shared memory.
#include "tile.cuh"

const unsigned int MaxSums = 16 * Warps;

template <unsigned int Loads>
__device__ void cluster(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element sums[MaxSums];
    __shared__ unsigned long long arrived;
    unsigned int tid = threadIdx.x, index = blockIdx.x * Warps + tid / 32, count = gridDim.x * Warps;
    unsigned int barrier = (unsigned int)__cvta_generic_to_shared(&arrived);
    if (blockIdx.x == 0 && tid == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(count * (unsigned int)sizeof(Element)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    // The wait for the other blocks to start overlaps with the loads.
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    Element sum = warp_sum<Loads>(in, n);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (tid % 32 == 0) {
        unsigned int target, signal;
        asm("mapa.shared::cluster.u32 %0, %1, 0;"
            : "=r"(target) : "r"((unsigned int)__cvta_generic_to_shared(sums + index)));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(signal) : "r"(barrier));
        if (sizeof(Element) == 4)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                         :: "r"(target), "r"(*(unsigned int*)&sum), "r"(signal) : "memory");
        else
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];"
                         :: "r"(target), "l"(*(unsigned long long*)&sum), "r"(signal) : "memory");
    }
    if (index > 0 || tid >= 32) return;
    unsigned int complete;
    do {
        // `acquire.cluster`: by default, a wait acquires only the writes of its own block.
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }" : "=r"(complete) : "r"(barrier) : "memory");
    } while (!complete);
    sum = 0;
    for (unsigned int i = tid; i < count; i += 32) sum += sums[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid == 0) *out = sum;
}

// There is one entry point for each number of loads in flight.
#define ENTRY(Loads) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Loads( \
        const Element* in, Element* out, unsigned long long n) \
    { cluster<Loads>(in, out, n); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
