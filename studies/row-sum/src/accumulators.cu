// One block per row, with a tree in shared memory; each entry point has its own number of accumulators.
// Remaining cost: loads of four bytes, and eight rounds of barriers per row.
#include "total.cuh"

template <int Accumulators, unsigned int Fixed>
__device__ void row_sum(
    const Element* in, Element* out, unsigned long long n, unsigned long long length)
{
    const unsigned int Block = 256;
    __shared__ Element shared[Block];
    unsigned int tid = threadIdx.x;
    unsigned long long first = blockIdx.x * length;
    const Element* row = in + first;
    unsigned long long left = n - first < length ? n - first : length;

    // Load: iterate over all accumulators while whole iterations fit, then add the rest one by one.
    Element sums[Accumulators] = {};
    unsigned long long i = tid;
    if (Fixed > 0 && left == Fixed) {
        unsigned int k = 0;
        for (; k + Accumulators <= Fixed / Block; k += Accumulators)
            for (int a = 0; a < Accumulators; a++) sums[a] += row[(k + a) * Block + tid];
        for (; k < Fixed / Block; k++) sums[0] += row[k * Block + tid];
        i = Fixed;
    }
    for (; i + (Accumulators - 1) * Block < left; i += Accumulators * Block)
        for (int a = 0; a < Accumulators; a++) sums[a] += row[i + a * Block];
    for (; i < left; i += Block) sums[0] += row[i];
    for (int a = 1; a < Accumulators; a++) sums[0] += sums[a];

    // Reduce: halve the number of threads that add, until one value is left.
    shared[tid] = sums[0];
    __syncthreads();
    for (unsigned int s = Block / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: write the row's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}

// Each number of accumulators has an entry point for a run-time and for a compile-time length.
#define ENTRY(Accumulators, Fixed) \
    extern "C" __global__ void rows_##Accumulators##_##Fixed( \
        const Element* in, Element* out, unsigned long long n, unsigned long long length) \
    { row_sum<Accumulators, Fixed>(in, out, n, Fixed > 0 ? Fixed : length); }
ENTRY(1, 0) ENTRY(2, 0) ENTRY(3, 0) ENTRY(5, 0) ENTRY(10, 0)
ENTRY(1, 2048) ENTRY(2, 2048) ENTRY(3, 2048) ENTRY(5, 2048) ENTRY(10, 2048)
