// v13 with registers first: an element goes to a bin only if its addition to a register would round.
// Remaining cost: five double-precision operations and a branch for every element.
#include "exact.cuh"
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 8, Block = 512;

// Adds x if the result is exact, that is, if subtracting either term gives the other; else bins x.
__device__ void add(double& sum, Element x)
{
    double next = sum + x;
    if (next - sum == x && next - x == sum) sum = next;
    else bin(x);
}

// Adds a register's value to the bins, in parts that fit in an element.
__device__ void spill(double sum)
{
    for (int k = 0; k < 3; k++) {
        Element part = (Element)0.5 == 0 ? (Element)(long long)sum : (Element)sum;
        bin(part);
        sum -= part;
    }
}

// Adds chunk c of `size` vectors to the bins; the last chunk also has the last n % Width elements.
__device__ void add(const Element* in, unsigned long long n, unsigned long long size, unsigned int c)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = c * size + tid, end = min((c + 1) * size, n / Width);

    // Load: read eight vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    double sums[Width] = {};
    #pragma unroll 1
    for (; i < end; i += Loads * Block) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < end) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) add(sums[e], next[k].data[e]);
    }
    for (int e = 0; e < Width; e++) spill(sums[e]);
    if (end == n / Width && tid < n % Width) bin(in[n - 1 - tid]);
}

// Reduce: each warp adds the columns of one bin at a time. Integer sums are exact in any order.
__device__ void empty(Digits* digits)
{
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All elements of the chunk are in bins.
    for (unsigned int b = tid / 32; b < My::bins; b += Block / 32) {
        long long sum = 0;
        for (unsigned int column = tid % 32; column < My::columns; column += 32)
            sum += take(b, column);
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (tid % 32 == 0) deposit(digits, b, sum);
    }
    __syncthreads(); // All bins are empty.
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long size, unsigned int chunks,
    Digits* digits, unsigned int* tickets)
{
    __shared__ Digits all[My::digits];
    __shared__ bool last;
    unsigned int tid = threadIdx.x;
    for (unsigned int k = tid; k < Cells; k += Block) cells[k] = 0;
    __syncthreads();
    // Store: add the sum of each chunk to the digits; the block that finishes last rounds them.
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        add(in, n, size, c);
        empty(digits);
    }
    if (tid == 0) {
        __threadfence(); // This block's sums are visible before its ticket is taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last block resets the counter.
        __threadfence(); // The sums of all earlier tickets are visible from here on.
    }
    __syncthreads();
    if (!last) return;
    if (tid < My::digits) all[tid] = atomicExch(digits + tid, 0);
    __syncthreads();
    if (tid == 0) *out = rounded(all);
}
