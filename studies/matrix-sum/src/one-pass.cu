// One launch, over chunks that depend on the length alone, gives the same bits on every GPU.
// Remaining cost: a fence, a ticket and reads of the partial sums, one after another, at the end.
#include "matrix.cuh"
#include "vectors.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, unsigned long long chunk,
                       unsigned int chunks, Element* total, Element* partials, unsigned int* tickets)
{
    __shared__ bool last;
    unsigned long long matrices = (n + Entries - 1) / Entries;
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        Element sums[Entries] = {};
        Matrices<Order>::add(sums, in, n, c * chunk, min((c + 1) * chunk, matrices));
        tree(sums);
        if (threadIdx.x == 0)
            for (unsigned int e = 0; e < Entries; e++) partials[Order::at(c, e, chunks)] = sums[e];
    }
    if (threadIdx.x == 0) {
        __threadfence(); // Release: a block that sees this ticket taken sees this block's writes.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last ticket wraps to 0.
        __threadfence(); // Acquire: the writes of blocks with earlier tickets are visible from here on.
    }
    __syncthreads();
    if (!last) return;
    Element sums[Entries];
    for (unsigned int e = 0; e < Entries; e++)
        sums[e] = threadIdx.x < chunks ? partials[Order::at(threadIdx.x, e, chunks)] : 0;
    tree(sums);
    if (threadIdx.x == 0) {
        for (unsigned int e = 0; e < Entries; e++) out[e] = sums[e];
        *total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

// There is one entry point for each order.
#define ENTRY(name, Order) \
    extern "C" __global__ void __launch_bounds__(Block, 2) reduce_##name( \
        const Element* in, Element* out, unsigned long long n, unsigned long long chunk, \
        unsigned int chunks, Element* total, Element* partials, unsigned int* tickets) \
    { reduce<Order>(in, out, n, chunk, chunks, total, partials, tickets); }
ENTRY(row, Row) ENTRY(column, Column)
