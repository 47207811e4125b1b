// Words of 16 bytes, eight in flight: each block adds an even part of the matrices in registers.
// Still costs: the parts depend on the GPU, and their sums take a second launch.
#include "matrix.cuh"
#include "words.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n,
                       unsigned long long part, Element* total)
{
    unsigned long long matrices = (n + Entries - 1) / Entries, begin = blockIdx.x * part;
    Element sums[Entries] = {};
    Share<Order>::add(sums, in, n, begin, min(begin + part, matrices));
    tree(sums);
    if (threadIdx.x == 0) store<Order>(sums, 1, out, total);
}

// One entry point for each order.
#define ENTRY(name, Order) \
    extern "C" __global__ void __launch_bounds__(Block) reduce_##name( \
        const Element* in, Element* out, unsigned long long n, unsigned long long part, \
        Element* total) \
    { reduce<Order>(in, out, n, part, total); }
ENTRY(row, Row) ENTRY(column, Column)
