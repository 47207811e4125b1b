// Every round is unrolled; the last six run in one warp and need no block barrier.
// Remaining cost: loads of a single entry, and shared-memory accesses in every round.
#include "matrix.cuh"

template <class Order, unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, Element* total)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two matrices per thread, or zero beyond the end; their sum is the first round.
    for (unsigned int e = 0; e < Entries; e++)
        shared[Order::at(tid, e, Block)] =
            entry<Order>(in, n, i, e) + entry<Order>(in, n, i + Block, e);
    __syncthreads();

    // Reduce: combine the block's matrices into one.
    #pragma unroll
    for (unsigned int s = Block / 2; s > 32; s /= 2) {
        if (tid < s)
            for (unsigned int e = 0; e < Entries; e++)
                shared[Order::at(tid, e, Block)] += shared[Order::at(tid + s, e, Block)];
        __syncthreads();
    }
    if (tid >= 32) return;
    Element sums[Entries];
    for (unsigned int e = 0; e < Entries; e++) sums[e] = shared[Order::at(tid, e, Block)];
    #pragma unroll
    for (unsigned int s = 32; s > 0; s /= 2) {
        for (unsigned int e = 0; e < Entries; e++) sums[e] += shared[Order::at(tid + s, e, Block)];
        __syncwarp();
        for (unsigned int e = 0; e < Entries; e++) shared[Order::at(tid, e, Block)] = sums[e];
        __syncwarp();
    }

    if (tid == 0) store<Order>(sums, 1, out, total);
}

// There is one entry point for each order and block size.
#define ENTRY(name, Order, Block) \
    extern "C" __global__ void __launch_bounds__(Block) reduce_##name##_##Block( \
        const Element* in, Element* out, unsigned long long n, Element* total) \
    { reduce<Order, Block>(in, out, n, total); }
ENTRY(row, Row, 256) ENTRY(row, Row, 1024) ENTRY(column, Column, 256) ENTRY(column, Column, 1024)
