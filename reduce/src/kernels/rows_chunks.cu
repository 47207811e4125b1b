// Reduces rows of more than 48 KiB, with the same chunks as a slice of that length. A block adds `each` chunks, four at
// a time or, if the chunks are long, one at a time; WAYS selects which of the two an entry point supports. If these are
// all the chunks of a row, the block combines their values. Otherwise, blocks publish their values, and the block with
// the row's last chunks, which started after the others, consumes the messages.
enum : u32 { Warps = THREADS / 32, Most = 256, Step = THREADS * Width, Batch = 32 };

// In a spread, the values of all warps are collected; otherwise, the values of the chunks are collected.
enum : bool { Spread = THREADS == 256, One = WAYS & 1, Four = WAYS & 2 };

// Whether unaligned rows are read as aligned vectors. A thread's sums then belong to places in an
// aligned vector: the sums at places below `skew` contain elements of the previous thread's vector.
enum : bool { Skewed = !Aligned && !Spread && ELEMENT >= 4 };

// A chunk. Places are numbered from the chunk's first aligned vector, and its elements have places `skew` to `end` - 1.
struct Places {
    const In* at;
    u32 skew, end;
    __device__ bool whole(u32 begin) const { return begin >= skew && begin + Width <= end; }
    __device__ bool cut(u32 begin) const { return begin < end && !whole(begin); }
    // Loads the elements of an incomplete vector.
    __device__ void elements(Vector& vector, u32 begin) const
    {
        const u32 before = begin < skew ? skew : 0, rest = end - begin;
        u32 wanted = (1u << (rest < Width ? rest : Width)) - (1u << before);
        if (!cut(begin)) wanted = 0;
        for (u32 e = 0; e < Width; e++) load_one(vector.at[e], at + begin + e, wanted >> e & 1);
    }
    // `place` is `at + begin`, which callers compute in a form that the compiler simplifies.
    __device__ void request(Vector& vector, const In* place, u32 begin) const
    {
        if (!Skewed) return fetch(vector, place, begin, end);
        vector = blank();
        load(vector, place, whole(begin));
    }
};

// Converts per-place sums to per-element sums. The sums below `skew` go to the previous thread; the
// last lane of a warp gets them from `behind`. Rotating a thread's sums changes none of the pairs
// that are added, so the tree is unchanged.
template <u32 Runs, class Behind>
__device__ void hand_over(Sums* sums, u32 skew, Behind behind)
{
    for (u32 e = 0; e < Width - 1; e++) {
        if (e >= skew) break;
        for (u32 u = 0; u < Runs; u++) {
            Local next = __shfl_down_sync(~0u, sums[u].at[e], 1), last = behind(u, e);
            sums[u].at[e] = threadIdx.x % 32 < 31 ? next : last;
        }
    }
}

// In a long chunk, a warp's last lane gets the sums below `skew` from the next warp.
__device__ void hand_over_to_warps(Sums& sums, u32 skew, Local* border)
{
    if (!Skewed) return;
    const u32 warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        for (u32 e = 0; e < Width - 1; e++) border[warp * Width + e] = sums.at[e];
    __syncthreads();
    hand_over<1>(&sums, skew, [&](u32, u32 e) { return border[(warp + 1) % Warps * Width + e]; });
}

// With four chunks at a time, each warp itself adds the elements that its last lane gets: lane u * Width + e adds place
// e after the warp's vectors in chunk u. Short chunks therefore need no barrier. For long chunks, a barrier keeps the
// warps together, which makes their loads faster.
struct Behind {
    Local sum;
    In loaded;
    __device__ void request(const In* at, u32 begin, u32 skew, u64 apart, u32 end)
    {
        const u32 e = threadIdx.x % Width, place = begin + 32 * Width + e;
        loaded = blank().at[0];
        load_one(loaded, at + apart + place, e < skew && place < end);
    }
    __device__ void hand_over(Sums* sums, u32 skew, bool meet)
    {
        if (!Skewed) return;
        if (meet) __syncthreads();
        ::hand_over<4>(sums, skew, [&](u32 u, u32 e) { return __shfl_sync(~0u, sum, u * Width + e); });
        sum = Op::start();
    }
};

// Returns the warp's sum of its vectors in one chunk. The distances between the loads are constants.
__device__ Acc alone(const Places& chunk, Local* border)
{
    const u32 lane = threadIdx.x % 32 * Width;
    Sums sums;
    #pragma unroll 1
    for (u32 begin = threadIdx.x * Width; begin - lane < chunk.end; begin += ROWS * Step) {
        Vector vectors[ROWS], last = blank();
        for (u32 r = 0; r < ROWS; r++) chunk.request(vectors[r], chunk.at + begin + r * Step, begin + r * Step);
        if (Skewed) {
            if (begin < chunk.skew) chunk.elements(vectors[0], begin);
            const u32 ahead = chunk.end / Width * Width - begin;
            if (ahead > 0 && ahead < ROWS * Step && ahead % Step == 0) chunk.elements(last, begin + ahead);
            else if (ahead == 0 && begin >= chunk.skew) chunk.elements(vectors[0], begin);
        }
        for (u32 r = 0; r < ROWS; r++) sums.add(vectors[r]);
        if (Skewed) sums.add(last);
    }
    hand_over_to_warps(sums, chunk.skew, border);
    return warp(sums.all());
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 vectors, u32 chunks, u32 each, u64* state)
{
    __shared__ alignas(16) Acc kept[Most], warps[2][Batch * Warps];
    __shared__ alignas(16) Local border[2][Skewed && One ? Warps * Width : 1];
    const u32 t = threadIdx.x, lane = t % 32, groups = (chunks + each - 1) / each;
    const u32 count = Spread ? chunks * Warps : chunks, full = vectors * Width;
    const bool single = One && (!Four || vectors >= 4 * THREADS || each == 1);
    u32 set = 0, edge = 0;
    #pragma unroll 1
    for (u64 item = blockIdx.x; item < m * groups; item += gridDim.x) {
        const u64 row = item / groups;
        const u32 group = (u32)(item % groups), first = group * each;
        const u32 behind = chunks - first < each ? chunks : first + each;
        u64* slots = state + row * count * Halves;
        const In* at = in + row * pitch;
        const u32 skew = Skewed ? (u32)((u64)at / sizeof(In)) % Width : 0;
        at -= skew;
        auto leave = [&](u32 place, Acc value) {
            if (groups == 1) kept[place] = value;
            else publish(slots + (u64)place * Halves, value);
        };
        // Each iteration adds the chunks whose values are combined after one barrier.
        #pragma unroll 1
        for (u32 from = first, to; from < behind; from = to) {
            to = single ? from + 1 : behind - from < Batch ? behind : from + Batch;
            if (single) {
                const u64 before = (u64)from * full, rest = n - before;
                Acc value = alone(Places{at + before, skew, (rest < full ? (u32)rest : full) + skew}, border[edge]);
                if (lane == 0 && Spread) leave(from * Warps + t / 32, value);
                if (lane == 0 && !Spread) warps[set][t / 32] = value;
                edge ^= 1;
            } else {
                Sums sums[4];
                Vector loaded[4];
                Behind last{Op::start()};
                // Warps rotate, so that the extra vectors of a chunk do not always fall to the same warp.
                u32 rank = t, begin = rank * Width;
                #pragma unroll 1
                for (u32 p = from;;) {
                    // Requests the next chunks' first vectors before the current values are combined.
                    const u64 before = (u64)p * full, rest = n - before;
                    const u32 most = (to - p) * full, left = p >= to ? 0 : rest < most ? (u32)rest : most;
                    auto chunk = [&](u32 u) {
                        const u32 skipped = u * full, here = left > skipped ? left - skipped : 0;
                        return Places{at + before + skipped, skew, here == 0 ? 0 : (here < full ? here : full) + skew};
                    };
                    bool cut = false;
                    for (u32 u = 0; u < 4; u++) {
                        Places places = chunk(u);
                        places.request(loaded[u], places.at + begin, begin);
                        cut = cut || places.cut(begin);
                    }
                    if (Skewed) {
                        const u32 u = lane / Width % 4, mine = lane / Width < 4 ? skew : 0;
                        last.request(at + before, begin - lane * Width, mine, u * full, chunk(u).end);
                        if (cut) for (u32 u = 0; u < 4; u++) chunk(u).elements(loaded[u], begin);
                    }
                    if (begin == rank * Width && p > from) {
                        last.hand_over(sums, skew, vectors >= 640);
                        Acc value = four(sums);
                        for (u32 u = 0; u < 4; u++) sums[u] = Sums();
                        const u32 mine = p - 4 + lane / 8, w = (rank - 32) % THREADS / 32;
                        if (lane % 8 == 0 && mine < to) {
                            if (Spread) leave(mine * Warps + w, value);
                            else warps[set][(mine - from) * Warps + w] = value;
                        }
                        if (p >= to) break;
                    }
                    for (u32 u = 0; u < 4; u++) sums[u].add(loaded[u]);
                    if (Skewed) last.sum = Op::add(last.sum, last.loaded);
                    begin += Step;
                    if (begin - lane * Width < full + skew) continue;
                    p += 4;
                    rank = (rank + 32) % THREADS;
                    begin = rank * Width;
                }
            }
            if (Spread) continue;
            __syncthreads();
            if (t < to - from) leave(from + t, few(warps[set] + t * Warps, Warps));
            set ^= 1;
        }
        if (group < groups - 1) continue;
        if (groups > 1) {
            // If there are more than 128 values, `finish` has a barrier and still reads the set after it.
            finish<Warps>(out + row, slots, count, warps[set], n, 0);
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
        // After this barrier, all kept values have been read, and the values of the warps have been written.
        __syncthreads();
        if (t == 0) store(out + row, threads > 32 ? few(warps[set], Warps) : value, n, 0);
        set ^= 1;
    }
}
