// The first round happens while loading: every thread adds two matrices.
// Remaining cost: a loop with a barrier per round, although the last rounds need only one warp.
#include "matrix.cuh"

template <class Order>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, Element* total)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x, block = blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * block) + tid;

    // Load: read two matrices per thread, or zero beyond the end; their sum is the first round.
    for (unsigned int e = 0; e < Entries; e++)
        shared[Order::at(tid, e, block)] =
            entry<Order>(in, n, i, e) + entry<Order>(in, n, i + block, e);
    __syncthreads();

    // Reduce: combine the block's matrices into one.
    for (unsigned int s = block / 2; s > 0; s /= 2) {
        if (tid < s) {
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
