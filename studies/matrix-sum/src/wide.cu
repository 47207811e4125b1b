// Each block adds an equal chunk of the matrices in registers, with eight vectors in flight.
// Remaining cost: chunks that depend on the GPU, and a second launch for their sums.
#include "matrix.cuh"
#include "vectors.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n,
                       unsigned long long chunk, Element* total)
{
    unsigned long long matrices = (n + Entries - 1) / Entries, begin = blockIdx.x * chunk;
    Element sums[Entries] = {};
    Matrices<Order>::add(sums, in, n, begin, min(begin + chunk, matrices));
    tree(sums);
    if (threadIdx.x == 0) store<Order>(sums, 1, out, total);
}

// There is one entry point for each order.
#define ENTRY(name, Order) \
    extern "C" __global__ void __launch_bounds__(Block) reduce_##name( \
        const Element* in, Element* out, unsigned long long n, unsigned long long chunk, \
        Element* total) \
    { reduce<Order>(in, out, n, chunk, total); }
ENTRY(row, Row) ENTRY(column, Column)
