// The first threads add, so whole warps become idle.
// Remaining cost: bank conflicts, because active lanes access matrices that are 2, 4, 8, … apart.
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
        unsigned int j = 2 * s * tid;
        if (j < block) {
            for (unsigned int e = 0; e < Entries; e++)
                shared[Order::at(j, e, block)] += shared[Order::at(j + s, e, block)];
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
