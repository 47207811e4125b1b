// Each thread loads one matrix; neighbours are added first, then pairs of neighbours, and so on.
// Remaining cost: the slow operator `%`, and mostly idle lanes in every warp.
#include "matrix.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, Element* total)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x, block = blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * block + tid;

    // Load: read one matrix per thread, or zero beyond the end.
    for (unsigned int e = 0; e < Entries; e++)
        shared[Order::at(tid, e, block)] = entry<Order>(in, n, i, e);
    __syncthreads();

    // Reduce: combine the block's matrices into one.
    for (unsigned int s = 1; s < block; s *= 2) {
        if (tid % (2 * s) == 0) {
            for (unsigned int e = 0; e < Entries; e++)
                shared[Order::at(tid, e, block)] += shared[Order::at(tid + s, e, block)];
        }
        __syncthreads();
    }

    if (tid == 0) store<Order>(shared, Order::at(0u, 1, block), out, total);
}

// There is one entry point for each order.
#define ENTRY(name, Order) \
    extern "C" __global__ void reduce_##name( \
        const Element* in, Element* out, unsigned long long n, Element* total) \
    { reduce<Order>(in, out, n, total); }
ENTRY(row, Row) ENTRY(column, Column)
