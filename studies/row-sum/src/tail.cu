// The last 32 values of a block are added by shuffles, without barriers.
// Remaining cost: loads of four bytes, one per iteration, which take more time than the tail.
#include "total.cuh"

extern "C" __global__ void rows(
    const Element* in, Element* out, unsigned long long n, unsigned long long length)
{
    const unsigned int Block = 256;
    __shared__ Element shared[Block];
    unsigned int tid = threadIdx.x;
    unsigned long long first = blockIdx.x * length;
    const Element* row = in + first;
    unsigned long long left = n - first < length ? n - first : length;

    // Load: read one element per iteration.
    Element sum = 0;
    for (unsigned long long i = tid; i < left; i += Block) sum += row[i];

    // Reduce: halve the number of threads that add until one warp is left, then use shuffles.
    shared[tid] = sum;
    __syncthreads();
    for (unsigned int s = Block / 2; s >= 32; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid >= 32) return;
    sum = shared[tid];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: write the row's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
