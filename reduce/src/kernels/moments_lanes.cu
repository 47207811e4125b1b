// Rows of at most 2 KiB. A warp adds each row.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* means, Acc* variances, u64 m, u32 n, u64 pitch, u64 less)
{
    const u64 step = (u64)gridDim.x * (THREADS / 32);
    #pragma unroll 1
    for (u64 row = ((u64)blockIdx.x * THREADS + threadIdx.x) / 32; row < m; row += step) {
        const In* at = in + row * pitch;
        const double first = first_of(at, n);
        const Moments all = moments_of(at, n, first, threadIdx.x % 32, 32);
        if (threadIdx.x % 32 == 0) put(all, first, n, less, means, variances, row);
    }
}
