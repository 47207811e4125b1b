// Each row has a block, with four 16-byte vectors in flight per thread; warps reduce by shuffles.
// Remaining cost: threads without a vector in rows of fewer than 4096 elements.
#include "vector.cuh"
#include "total.cuh"

extern "C" __global__ void rows(
    const Element* in, Element* out, unsigned long long n, unsigned long long length)
{
    const unsigned int Block = 256;
    __shared__ Element warps[Block / 32];
    unsigned int tid = threadIdx.x;
    unsigned long long first = blockIdx.x * length;
    unsigned long long left = n - first < length ? n - first : length;

    // Load: read vectors of 16 bytes.
    Element sum = thread_sum(in + first, left, tid, Block);

    // Reduce: each warp combines its values; then the first warp combines the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) warps[tid / 32] = sum;
    __syncthreads();
    if (tid >= 32) return;
    sum = tid < Block / 32 ? warps[tid] : 0;
    for (int s = Block / 64; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: write the row's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
