// Rows of 2 to 48 KiB: a block has a few at once, or the four quarters of one, and each of its threads a
// sum for each of them. A row of quarters is added as by a block of four times as many threads.
__device__ void block_of(const Rows& rows, Acc* out, bool quarters, u32 turns, Acc (*kept)[THREADS / 8])
{
    const Edges edge = edges(rows);
    const u32 t = threadIdx.x, step = quarters ? 4 * THREADS : THREADS;
    u32 set = 0;
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * turns; first < rows.m; first += (u64)gridDim.x * turns, set ^= 1) {
        Sums sums[4];
        if (first == 0) first_edge(sums[0], rows, edge, t);
        #pragma unroll 1
        for (u32 begin = t; begin < rows.words + t; begin += step) {
            Pair pairs[4];
            for (int u = 0; u < 4; u++) {
                u64 row = quarters ? first : first + u;
                u32 word = quarters ? begin + u * THREADS : begin;
                bool here = (quarters || u < turns) && row < rows.m && word < rows.words;
                bool inner = (row > 0 || word >= edge.early) && (row < rows.m - 1 || word < edge.fits);
                fetch(pairs[u], rows.in + row * rows.pitch + (u64)word * Lanes, left(rows, word), here && inner);
            }
            for (int u = 0; u < 4; u++) {
                u64 row = quarters ? first : first + u;
                u32 word = quarters ? begin + u * THREADS : begin;
                sums[u].add(taken(pairs[u], rows.in + row * rows.pitch + (u64)word * Lanes, left(rows, word)));
            }
        }
        if (edge.fits < rows.words && first + turns >= rows.m) {
            const u32 w = last_edge(rows, edge, t, THREADS), of = quarters ? w / THREADS % 4 : (u32)(rows.m - 1 - first);
            const Sums end = last_word(rows, w);
            for (int u = 0; u < 4; u++) if (u == of) join(sums[u], end);
        }
        Acc value[4];
        for (int u = 0; u < 4; u++) value[u] = sums[u].all();
        // Eight lanes share what a warp has of a turn; then its first one has it.
        trade<4>(value, 16);
        trade<2>(value, 8);
        for (u32 s = 4; s > 0; s /= 2) value[0] = Op::join(value[0], __shfl_xor_sync(~0u, value[0], s));
        if (t % 8 == 0) kept[set][t % 32 / 8 * (THREADS / 32) + t / 32] = value[0];
        __syncthreads();
        // While these are joined, others go on: there are two sets.
        if (quarters) {
            if (t == 0) store(out + first, few(kept[set], THREADS / 8), 0);
        } else if (t < turns && first + t < rows.m) {
            store(out + first + t, few(kept[set] + t * (THREADS / 32), THREADS / 32), 0);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 quarters, u32 turns, u32 each, u64* state)
{
    __shared__ alignas(16) Acc kept[2][THREADS / 8];
    Rows rows = rows_of(in, m, n, pitch);
    block_of(rows, out, quarters, turns, kept);
}
