// Rows of at most 2 KiB: `lanes` lanes of a warp, a power of two, have a row, four rows in turn, of
// which all are in flight. With fewer turns more warps are at work.
__device__ void lanes_of(const Rows& rows, Acc* out, u32 lanes, u32 turns)
{
    const Edges edge = edges(rows);
    const u32 t = threadIdx.x % 32 % lanes, group = threadIdx.x % 32 / lanes, each = 32 / lanes;
    const u64 warps = (u64)gridDim.x * (blockDim.x / 32);
    #pragma unroll 1
    for (u64 w = (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; w * each * turns < rows.m; w += warps) {
        const u64 first = w * each * turns + group;
        Sums sums[4];
        if (first == 0) first_edge(sums[0], rows, edge, t);
        #pragma unroll 1
        for (u32 begin = 0; begin < rows.words; begin += lanes) {
            const u32 word = begin + t, rest = left(rows, word);
            Pair pairs[4];
            for (int u = 0; u < 4; u++) {
                u64 row = first + u * each;
                bool here = u < turns && row < rows.m && word < rows.words;
                bool inner = (row > 0 || word >= edge.early) && (row < rows.m - 1 || word < edge.fits);
                fetch(pairs[u], rows.in + row * rows.pitch + word * Lanes, rest, here && inner);
            }
            for (int u = 0; u < 4; u++) {
                u64 row = first + u * each;
                sums[u].add(taken(pairs[u], rows.in + row * rows.pitch + word * Lanes, rest));
            }
        }
        if (edge.fits < rows.words && first + 3 * each >= rows.m - 1) {
            const Sums end = last_word(rows, last_edge(rows, edge, t, lanes));
            for (int u = 0; u < 4; u++) if (u < turns && first + u * each == rows.m - 1) join(sums[u], end);
        }
        Acc value[4];
        for (int u = 0; u < 4; u++) value[u] = sums[u].all();
        // Lanes that have a row share it no longer: each has its own turns.
        u32 mine = 4, turn = 0;
        if (lanes == 2) {
            trade<4>(value, 1);
            mine = 2, turn = 2 * t;
        } else if (lanes > 2) {
            trade<4>(value, lanes / 2);
            trade<2>(value, lanes / 4);
            #pragma unroll 1
            for (u32 s = lanes / 8; s > 0; s /= 2) value[0] = Op::join(value[0], __shfl_xor_sync(~0u, value[0], s));
            mine = t % (lanes / 4) == 0, turn = t / (lanes / 4);
        }
        for (int u = 0; u < 4; u++) {
            u64 row = first + (turn + u) * each;
            if (u < mine && turn + u < turns && row < rows.m) store(out + row, value[u], 0);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 lanes, u32 turns, u32 each, u64* state)
{
    Rows rows = rows_of(in, m, n, pitch);
    lanes_of(rows, out, lanes, turns);
}
