// One launch, over parts that the length alone decides: the same bits on every GPU.
// Still costs: the end: a fence, a ticket and the partial sums, each waiting for the one before it.
#include "matrix.cuh"
#include "words.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, unsigned long long part,
                       unsigned int parts, Element* total, Element* partials, unsigned int* tickets)
{
    __shared__ bool last;
    unsigned long long matrices = (n + Entries - 1) / Entries;
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        Element sums[Entries] = {};
        Share<Order>::add(sums, in, n, p * part, min((p + 1) * part, matrices));
        tree(sums);
        if (threadIdx.x == 0)
            for (unsigned int e = 0; e < Entries; e++) partials[Order::at(p, e, parts)] = sums[e];
    }
    if (threadIdx.x == 0) {
        __threadfence(); // What this block wrote is seen by whoever sees its ticket taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last one sets them to 0 again.
        __threadfence(); // What others wrote before they took theirs is seen from here on.
    }
    __syncthreads();
    if (!last) return;
    Element sums[Entries];
    for (unsigned int e = 0; e < Entries; e++)
        sums[e] = threadIdx.x < parts ? partials[Order::at(threadIdx.x, e, parts)] : 0;
    tree(sums);
    if (threadIdx.x == 0) {
        for (unsigned int e = 0; e < Entries; e++) out[e] = sums[e];
        *total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

// One entry point for each order.
#define ENTRY(name, Order) \
    extern "C" __global__ void __launch_bounds__(Block, 2) reduce_##name( \
        const Element* in, Element* out, unsigned long long n, unsigned long long part, \
        unsigned int parts, Element* total, Element* partials, unsigned int* tickets) \
    { reduce<Order>(in, out, n, part, parts, total, partials, tickets); }
ENTRY(row, Row) ENTRY(column, Column)
