// One block adds everything: nothing to agree on.
// Still costs: one multiprocessor's share of the memory's speed.
#include "tile.cuh"

template <unsigned int Words>
__device__ void block(const Element* in, Element* out, unsigned long long n)
{
    Element sum = block_sum(warp_sum<Words>(in, n));
    if (threadIdx.x == 0) *out = sum;
}

// One entry point for each number of words in flight.
#define ENTRY(Words) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Words( \
        const Element* in, Element* out, unsigned long long n) \
    { block<Words>(in, out, n); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
