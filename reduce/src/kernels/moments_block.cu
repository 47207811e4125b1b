// Rows of more than 2 KiB. A block adds each row, and its warps' sums are added in order.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* means, Acc* variances, u64 m, u32 n, u64 pitch, u64 less)
{
    // There are two sets of sums: while one thread adds one set, the warps fill the other.
    __shared__ Moments warps[2][THREADS / 32];
    u32 set = 0;
    #pragma unroll 1
    for (u64 row = blockIdx.x; row < m; row += gridDim.x, set ^= 1) {
        const In* at = in + row * pitch;
        const double first = first_of(at, n);
        Moments all = moments_of(at, n, first, threadIdx.x, THREADS);
        if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = all;
        __syncthreads();
        if (threadIdx.x > 0) continue;
        all = warps[set][0];
        for (u32 w = 1; w < THREADS / 32; w++) all = join(all, warps[set][w]);
        put(all, first, n, less, means, variances, row);
    }
}
