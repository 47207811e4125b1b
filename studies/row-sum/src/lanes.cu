// A group of up to 32 lanes, one per vector, adds a row, without barriers and shared memory.
// Remaining cost: too little parallelism, because a long row gets at most one warp.
#include "vector.cuh"
#include "total.cuh"

extern "C" __global__ void rows(
    const Element* in, Element* out, unsigned long long n, unsigned long long length,
    unsigned int lanes)
{
    unsigned int t = threadIdx.x % lanes;
    unsigned long long row = (blockIdx.x * 256ull + threadIdx.x) / lanes, first = row * length;
    unsigned long long left = first >= n ? 0 : n - first < length ? n - first : length;

    // Load: read vectors of 16 bytes.
    Element sum = thread_sum(in + first, left, t, lanes);

    // Reduce: combine the values of a row's lanes into one.
    for (unsigned int s = lanes / 2; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);

    // Store: write the row's sum; an empty input has one empty row.
    if (t == 0 && (left > 0 || row == 0)) out[row] = sum;
}
