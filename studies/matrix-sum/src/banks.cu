// The upper half is added to the lower half, so neighbouring lanes have neighbouring matrices.
// Remaining cost: wasted threads; half of them load a matrix and then never add one.
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
