// Rows of more than 2 KiB. A block adds four, two or one rows at the same time, and its warps' sums are added in order.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* means, Acc* variances, u64 m, u32 n, u64 pitch, u64 less, u32 lanes, u32 each)
{
    // There are two sets of sums: while some threads add one set, the warps fill the other.
    __shared__ Moments warps[2][4][THREADS / 32];
    const u32 at_once = 4 / each;
    u32 set = 0;
    Round round;
    round.n = n, round.each = each, round.apart = pitch;
    #pragma unroll 1
    for (u64 begin = (u64)blockIdx.x * at_once; begin < m; begin += (u64)gridDim.x * at_once, set ^= 1) {
        round.at = in + begin * pitch;
        round.rows = m - begin < at_once ? (u32)(m - begin) : at_once;
        round.add(threadIdx.x, THREADS);
        round.exchange(32);
        for (u32 u = 0; u < 4; u++)
            if (round.ends(u) && threadIdx.x % 32 == 0) warps[set][round.index(u)][threadIdx.x / 32] = round.values[u];
        __syncthreads();
        const u32 r = threadIdx.x;
        if (r >= round.rows) continue;
        Moments all = warps[set][r][0];
        for (u32 w = 1; w < THREADS / 32; w++) all = join(all, warps[set][r][w]);
        In head = round.heads[0].at[0];
        for (u32 u = 1; u < 4; u++) if (u == r * each) head = round.heads[u].at[0];
        put(all, finite(head), n, less, means, variances, begin + r);
    }
}
