// Rows of more than 48 KiB, in the parts of a slice of their length. A block has `each` of them in turn;
// where that is all of a row it joins their values itself, and otherwise the block with the last of
// them waits for the mail of the others, which have started before it.
enum : u32 { Warps = THREADS / 32, Most = 256 };

// The warps' values of a part: lane 0 has its own.
__device__ Acc part_of(const Rows& rows, const Edges& edge, u64 row, u32 begin, u32 end)
{
    const In* at = rows.in + row * rows.pitch;
    const u32 t = threadIdx.x;
    // The words that are read as words: all others are at an edge, or not whole.
    const u32 from = row == 0 && begin < edge.early ? edge.early : begin, whole = rows.words - (rows.last < Lanes);
    u32 to = row == rows.m - 1 && edge.fits < whole ? edge.fits : whole;
    if (to > end) to = end;
    if (to < from) to = from;
    Sums sums;
    if (row == 0 && begin == 0) first_edge(sums, rows, edge, t);
    #pragma unroll 1
    for (u32 w = begin + t; w < end; w += THREADS * ROWS) {
        Pair pairs[ROWS];
        for (int r = 0; r < ROWS; r++) {
            u32 word = w + r * THREADS;
            fetch(pairs[r], at + (u64)word * Lanes, Lanes, word >= from && word < to);
        }
        for (int r = 0; r < ROWS; r++) sums.add(taken(pairs[r], at + (u64)(w + r * THREADS) * Lanes, Lanes));
    }
    #pragma unroll 1
    for (u32 w = to; w < end; w++)
        if ((w - begin) % THREADS == t) sums.add(some(at + (u64)w * Lanes, left(rows, w)));
    return warp(sums.all());
}

__device__ void parts_of(const Rows& rows, Acc* out, u32 words, u32 parts, u32 each, u64* box, Acc* kept, Acc* warps)
{
    // A spread has the values of all warps collected, and chunks those of the parts.
    const bool spread = THREADS == 256;
    const Edges edge = edges(rows);
    const u32 t = threadIdx.x, shares = (parts + each - 1) / each, count = spread ? parts * Warps : parts;
    u32 set = 0;
    #pragma unroll 1
    for (u64 item = blockIdx.x; item < rows.m * shares; item += gridDim.x) {
        const u64 row = item / shares;
        const u32 share = (u32)(item % shares);
        u64* boxes = box + row * count * Halves;
        #pragma unroll 1
        for (u32 p = share * each; p < parts && p < (share + 1) * each; p++, set ^= 1) {
            u32 begin = p * words, end = rows.words - begin < words ? rows.words : begin + words;
            Acc value = part_of(rows, edge, row, begin, end);
            u32 at = spread ? p * Warps + t / 32 : p;
            if (!spread) {
                if (t % 32 == 0) warps[set * Warps + t / 32] = value;
                __syncthreads();
                if (t == 0) value = few(warps + set * Warps, Warps);
            }
            if (spread ? t % 32 == 0 : t == 0) {
                if (shares == 1) kept[at] = value;
                else post(boxes + (u64)at * Halves, value);
            }
        }
        if (share < shares - 1) continue;
        if (shares > 1) {
            // It meets at a barrier, behind which its set is read, if one warp does not do.
            finish<Warps>(out + row, boxes, count, warps + set * Warps, 0);
            set ^= count > 128;
            continue;
        }
        __syncthreads();
        const u32 threads = count <= 128 ? 32 : THREADS;
        Acc value = Op::none();
        if (t < threads) {
            for (u32 i = t; i < count; i += threads) value = Op::join(value, kept[i]);
            value = warp(value);
            if (t % 32 == 0) warps[set * Warps + t / 32] = value;
        }
        // The values are read, and those of the warps there.
        __syncthreads();
        if (t == 0) store(out + row, threads > 32 ? few(warps + set * Warps, Warps) : value, 0);
        set ^= 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 words, u32 parts, u32 each, u64* state)
{
    __shared__ alignas(16) Acc kept[Most], warps[2 * Warps];
    Rows rows = rows_of(in, m, n, pitch);
    parts_of(rows, out, words, parts, each, state, kept, warps);
}
