// Reduces rows of at most 2 KiB. A group of `lanes` lanes of a warp (a power of two) adds four or two rows at the same
// time, or one row with four vectors in flight.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 lanes, u32 at_once, u32 none, u64* state)
{
    const u32 t = threadIdx.x % 32 % lanes, group = threadIdx.x % 32 / lanes, each = 32 / lanes;
    const u64 warps = (u64)gridDim.x * (blockDim.x / 32);
    const bool deep = at_once == 1;
    #pragma unroll 1
    for (u64 w = (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; w * each * at_once < m; w += warps) {
        const u64 first = w * each * at_once + group;
        const In* at = in + first * pitch;
        Runs runs = split(at, first < m ? (u32)n : 0, lanes);
        if (!deep)
            for (u32 u = 0; u < 4; u++) {
                runs.at[u] = at + u * (each * pitch);
                runs.count[u] = u < at_once && first + u * each < m ? (u32)n : 0;
            }
        Sums sums[4];
        add(sums, runs, (u32)n, t, deep ? 4 * lanes : lanes, deep);
        Acc value[4];
        for (int u = 0; u < 4; u++) value[u] = sums[u].all();
        // The lanes exchange their sums until each lane has the values of its own rows.
        u32 mine = 4, index = 0;
        if (lanes == 2) {
            trade<4>(value, 1);
            mine = 2, index = 2 * t;
        } else if (lanes > 2) {
            trade<4>(value, lanes / 2);
            trade<2>(value, lanes / 4);
            #pragma unroll 1
            for (u32 s = lanes / 8; s > 0; s /= 2) value[0] = Op::join(value[0], __shfl_xor_sync(~0u, value[0], s));
            mine = t % (lanes / 4) == 0, index = t / (lanes / 4);
        }
        for (u32 u = 0; u < 4; u++) {
            u64 row = first + (index + u) * each;
            if (u < mine && index + u < at_once && row < m) store(out + row, value[u], n, 0);
        }
    }
}
