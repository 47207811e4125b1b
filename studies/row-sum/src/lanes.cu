// Lanes of a warp have a row: as many as it has words, up to all 32; no barrier, no shared memory.
// Still costs: a long row has no more than one warp.
#include "word.cuh"
#include "total.cuh"

extern "C" __global__ void rows(
    const Element* in, Element* out, unsigned long long n, unsigned long long length,
    unsigned int lanes)
{
    unsigned int t = threadIdx.x % lanes;
    unsigned long long row = (blockIdx.x * 256ull + threadIdx.x) / lanes, first = row * length;
    unsigned long long left = first >= n ? 0 : n - first < length ? n - first : length;

    // Load: words of 16 bytes.
    Element sum = thread_sum(in + first, left, t, lanes);

    // Reduce: the lanes of a row.
    for (unsigned int s = lanes / 2; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);

    // Store: the row's sum; without an element there is one row, of nothing.
    if (t == 0 && (left > 0 || row == 0)) out[row] = sum;
}
