// Rows of at most 2 KiB. A group of `lanes` lanes of a warp adds four, two or one rows at the same time.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* means, Acc* variances, u64 m, u32 n, u64 pitch, u64 less, u32 lanes, u32 each)
{
    const u32 t = threadIdx.x & (lanes - 1), at_once = 4 / each, groups = 32 / lanes;
    const u64 warps = (u64)gridDim.x * (THREADS / 32);
    Round round;
    round.n = n, round.each = each, round.apart = groups * pitch;
    // All lanes of a warp have the same number of iterations, because they exchange sums.
    #pragma unroll 1
    for (u64 w = ((u64)blockIdx.x * THREADS + threadIdx.x) / 32; w * groups * at_once < m; w += warps) {
        const u64 begin = w * groups * at_once + threadIdx.x % 32 / lanes;
        round.at = in + begin * pitch;
        round.rows = 0;
        for (u32 r = 0; r < 4; r++) round.rows += r < at_once && begin + r * groups < m;
        round.add(t, lanes);
        round.exchange(lanes);
        // Lane t stores rows t, t + lanes, and so on.
        #pragma unroll 1
        for (u32 r = t; r < at_once; r += lanes) {
            Moments all = round.values[0];
            In head = round.heads[0].at[0];
            for (u32 u = 1; u < 4; u++)
                if (u == (r + 1) * each - 1) all = round.values[u], head = round.heads[u].at[0];
            if (r < round.rows) put(all, finite(head), n, less, means, variances, begin + r * groups);
        }
    }
}
