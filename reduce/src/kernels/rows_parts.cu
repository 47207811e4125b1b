// Rows of more than 48 KiB, in the parts of a slice of their length. A block has `each` of them, four at
// once, or one where parts are long. Where that is all of a row it joins their values itself; otherwise the
// block with the last of them waits for the mail of the others, which have started before it.
enum : u32 { Warps = THREADS / 32, Most = 256 };

// Of a spread the values of all warps are collected, and of chunks those of the parts.
enum : bool { Spread = THREADS == 256 };

// The sum of a warp's share of one part, of `count` elements: its loads differ by what the compiler knows.
__device__ Acc alone(const In* at, u32 count)
{
    const u32 lane = threadIdx.x % 32 * Lanes, row = THREADS * Lanes;
    Sums sums;
    #pragma unroll 1
    for (u32 begin = threadIdx.x * Lanes; begin - lane < count; begin += ROWS * row) {
        Word words[ROWS];
        for (int r = 0; r < ROWS; r++) fetch(words[r], at + begin + r * row, begin + r * row, count);
        for (int r = 0; r < ROWS; r++) sums.add(words[r]);
    }
    return warp(sums.all());
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 words, u32 parts, u32 each, u64* state)
{
    __shared__ alignas(16) Acc kept[Most], warps[2][4 * Warps];
    const u32 t = threadIdx.x, shares = (parts + each - 1) / each, count = Spread ? parts * Warps : parts;
    const u32 full = words * Lanes;
    // Of short parts four are in flight at once, and of long ones one.
    const bool single = Spread || words >= 3 * THREADS || each == 1;
    u32 set = 0;
    #pragma unroll 1
    for (u64 item = blockIdx.x; item < m * shares; item += gridDim.x) {
        const u64 row = item / shares;
        const u32 share = (u32)(item % shares), end = parts - share * each < each ? parts : (share + 1) * each;
        u64* box = state + row * count * Halves;
        #pragma unroll 1
        for (u32 p = share * each; p < end; p += single ? 1 : 4, set ^= 1) {
            const In* at = in + row * pitch + (u64)p * full;
            const u64 rest = n - (u64)p * full;
            u32 place = Spread ? p * Warps + t / 32 : p + t;
            bool mine = Spread ? t % 32 == 0 : t < (single ? 1 : 4) && place < end;
            Acc value;
            if (single) {
                value = alone(at, rest < full ? (u32)rest : full);
                if (!Spread && t % 32 == 0) warps[set][t / 32] = value;
            } else {
                Runs runs;
                for (u32 u = 0; u < 4; u++) {
                    const u64 before = (u64)u * full;
                    runs.at[u] = at + before;
                    runs.count[u] = p + u >= end ? 0 : rest - before < full ? (u32)(rest - before) : full;
                }
                Sums sums[4];
                add(sums, runs, full, t, THREADS, false);
                value = four(sums);
                if (t % 8 == 0) warps[set][t % 32 / 8 * Warps + t / 32] = value;
            }
            if (!Spread) {
                __syncthreads();
                if (mine) value = few(warps[set] + t * Warps, Warps);
            }
            if (mine && shares == 1) kept[place] = value;
            if (mine && shares > 1) post(box + (u64)place * Halves, value);
        }
        if (share < shares - 1) continue;
        if (shares > 1) {
            // It meets at a barrier, behind which its set is read, if one warp does not do.
            finish<Warps>(out + row, box, count, warps[set], 0);
            set ^= count > 128;
            continue;
        }
        __syncthreads();
        const u32 threads = count <= 128 ? 32 : THREADS;
        Acc value = Op::none();
        if (t < threads) {
            #pragma unroll 1
            for (u32 i = t; i < count; i += threads) value = Op::join(value, kept[i]);
            value = warp(value);
            if (t % 32 == 0) warps[set][t / 32] = value;
        }
        // The values are read, and those of the warps there.
        __syncthreads();
        if (t == 0) store(out + row, threads > 32 ? few(warps[set], Warps) : value, 0);
        set ^= 1;
    }
}
