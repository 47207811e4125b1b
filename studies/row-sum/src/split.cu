// Several blocks add a row, one chunk each, and a second launch adds the sums of the chunks.
// Remaining cost: a second launch, and a separate chunk for the remainder of a row.
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

    // Load: read vectors of 16 bytes from a chunk.
    Element sum = thread_sum(in + first, left, tid, Block);

    // Reduce: each warp combines its values; then the first warp combines the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) warps[tid / 32] = sum;
    __syncthreads();
    if (tid >= 32) return;
    sum = tid < Block / 32 ? warps[tid] : 0;
    for (int s = Block / 64; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: write the chunk's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}

// A warp adds the sums of a row's chunks.
extern "C" __global__ void chunks(
    const Element* in, Element* out, unsigned long long n, unsigned long long each)
{
    unsigned int t = threadIdx.x % 32;
    unsigned long long row = blockIdx.x * 8ull + threadIdx.x / 32;
    Element sum = 0;
    for (unsigned long long i = row * each + t; i < n && i < (row + 1) * each; i += 32) sum += in[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (t == 0 && row * each < n) out[row] = sum;
}
