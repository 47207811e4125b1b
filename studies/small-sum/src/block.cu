// One block adds everything, so no partial sums have to be combined.
// Remaining cost: unused memory bandwidth, because one multiprocessor reaches only a fraction of it.
#include "tile.cuh"

template <unsigned int Loads>
__device__ void block(const Element* in, Element* out, unsigned long long n)
{
    Element sum = block_sum(warp_sum<Loads>(in, n));
    if (threadIdx.x == 0) *out = sum;
}

// There is one entry point for each number of loads in flight.
#define ENTRY(Loads) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Loads( \
        const Element* in, Element* out, unsigned long long n) \
    { block<Loads>(in, out, n); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
