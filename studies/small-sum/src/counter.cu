// Blocks take tickets from a counter; the block with the last ticket adds the partial sums in order.
// Remaining cost: three trips to L2 in sequence, for the partial sum, the ticket and all partial sums.
// Needs compute_70: taking the ticket acquires and releases.
#include "tile.cuh"

template <unsigned int Loads>
__device__ void counter(const Element* in, Element* out, unsigned long long n, Element* partials,
                        unsigned int* tickets)
{
    Element sum = block_sum(warp_sum<Loads>(in, n));
    if (threadIdx.x >= 32) return;
    unsigned int ticket = 0;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket) : "l"(tickets), "r"(gridDim.x - 1) : "memory");
    }
    if (__shfl_sync(0xffffffff, ticket, 0) != gridDim.x - 1) return;
    // A shuffle does not order memory; this makes the writes that lane 0 acquired visible to all lanes.
    __syncwarp();
    sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += 32) sum += partials[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x == 0) *out = sum;
}

// There is one entry point for each number of loads in flight.
#define ENTRY(Loads) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Loads( \
        const Element* in, Element* out, unsigned long long n, Element* partials, \
        unsigned int* tickets) \
    { counter<Loads>(in, out, n, partials, tickets); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
