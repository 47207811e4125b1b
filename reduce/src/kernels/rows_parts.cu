// Rows of more than 48 KiB, in the parts of a slice of their length. A block has `each` of them, four at
// once, or one where parts are long; WAYS says which of the two an entry has, or both. Where that is all of a
// row it joins their values itself; otherwise the block with the last of them waits for the mail of the
// others, which have started before it.
enum : u32 { Warps = THREADS / 32, Most = 256, Step = THREADS * Lanes, Slots = 32 };

// Of a spread the values of all warps are collected, and of chunks those of the parts.
enum : bool { Spread = THREADS == 256, One = WAYS & 1, Four = WAYS & 2 };

// Whether whole words of memory are read though rows begin between two. Each thread then has its sums by
// places of memory: at those below `skew`, of words of the thread before.
enum : bool { Skewed = !Aligned && !Spread && !Narrow };

// The part from the first word of memory on that it has something of: its places `skew` to `end`.
struct Places {
    const In* at;
    u32 skew, end;
    __device__ bool whole(u32 begin) const { return begin >= skew && begin + Lanes <= end; }
    __device__ bool cut(u32 begin) const { return begin < end && !whole(begin); }
    // Of a word that is there in part, what there is.
    __device__ void elements(Word& word, u32 begin) const
    {
        const u32 before = begin < skew ? skew : 0, rest = end - begin;
        u32 wanted = (1u << (rest < Lanes ? rest : Lanes)) - (1u << before);
        if (!cut(begin)) wanted = 0;
        for (u32 e = 0; e < Lanes; e++) load_one(word.at[e], at + begin + e, wanted >> e & 1);
    }
    // `place` is `begin`, or what the compiler knows of it.
    __device__ void ask(Word& word, const In* place, u32 begin) const
    {
        if (!Skewed) return fetch(word, place, begin, end);
        word = blank();
        load(word, place, whole(begin));
    }
};

// Sums by places become those of words: what is below `skew` goes to the thread before, and the last lane of
// a warp has it from `behind`. How a thread's sums are joined does not change, since to turn them changes no
// pair.
template <u32 Runs, class Behind>
__device__ void hand_over(Sums* sums, u32 skew, Behind behind)
{
    for (u32 e = 0; e < Lanes - 1; e++) {
        if (e >= skew) break;
        for (u32 u = 0; u < Runs; u++) {
            Acc next = __shfl_down_sync(~0u, sums[u].at[e], 1), last = behind(u, e);
            sums[u].at[e] = threadIdx.x % 32 < 31 ? next : last;
        }
    }
}

// In a long part it is from the next warp.
__device__ void hand_over_to_warps(Sums& sums, u32 skew, Acc* border)
{
    if (!Skewed) return;
    const u32 warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        for (u32 e = 0; e < Lanes - 1; e++) border[warp * Lanes + e] = sums.at[e];
    __syncthreads();
    hand_over<1>(&sums, skew, [&](u32, u32 e) { return border[(warp + 1) % Warps * Lanes + e]; });
}

// Of four parts at once each warp adds it itself: lane u * Lanes + e has place e behind the words of part u.
// So short parts need no barrier; of longer ones it keeps warps together, which read faster then.
struct Behind {
    Acc sum;
    In asked;
    __device__ void ask(const In* at, u32 begin, u32 skew, u64 apart, u32 end)
    {
        const u32 e = threadIdx.x % Lanes, place = begin + 32 * Lanes + e;
        asked = blank().at[0];
        load_one(asked, at + apart + place, e < skew && place < end);
    }
    __device__ void hand_over(Sums* sums, u32 skew, bool meet)
    {
        if (!Skewed) return;
        if (meet) __syncthreads();
        ::hand_over<4>(sums, skew, [&](u32 u, u32 e) { return __shfl_sync(~0u, sum, u * Lanes + e); });
        sum = Op::none();
    }
};

// The sum of a warp's share of one part: its loads differ by what the compiler knows.
__device__ Acc alone(const Places& part, Acc* border)
{
    const u32 lane = threadIdx.x % 32 * Lanes;
    Sums sums;
    #pragma unroll 1
    for (u32 begin = threadIdx.x * Lanes; begin - lane < part.end; begin += ROWS * Step) {
        Word words[ROWS], last = blank();
        for (u32 r = 0; r < ROWS; r++) part.ask(words[r], part.at + begin + r * Step, begin + r * Step);
        if (Skewed) {
            if (begin < part.skew) part.elements(words[0], begin);
            const u32 ahead = part.end / Lanes * Lanes - begin;
            if (ahead > 0 && ahead < ROWS * Step && ahead % Step == 0) part.elements(last, begin + ahead);
            else if (ahead == 0 && begin >= part.skew) part.elements(words[0], begin);
        }
        for (u32 r = 0; r < ROWS; r++) sums.add(words[r]);
        if (Skewed) sums.add(last);
    }
    hand_over_to_warps(sums, part.skew, border);
    return warp(sums.all());
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 words, u32 parts, u32 each, u64* state)
{
    __shared__ alignas(16) Acc kept[Most], warps[2][Slots * Warps];
    __shared__ alignas(16) Acc border[2][Skewed && One ? Warps * Lanes : 1];
    const u32 t = threadIdx.x, lane = t % 32, shares = (parts + each - 1) / each;
    const u32 count = Spread ? parts * Warps : parts, full = words * Lanes;
    const bool single = One && (!Four || words >= 4 * THREADS || each == 1);
    u32 set = 0, edge = 0;
    #pragma unroll 1
    for (u64 item = blockIdx.x; item < m * shares; item += gridDim.x) {
        const u64 row = item / shares;
        const u32 share = (u32)(item % shares), first = share * each;
        const u32 behind = parts - first < each ? parts : first + each;
        u64* box = state + row * count * Halves;
        const In* at = in + row * pitch;
        const u32 skew = Skewed ? (u32)((u64)at / sizeof(In)) % Lanes : 0;
        at -= skew;
        auto leave = [&](u32 place, Acc value) {
            if (shares == 1) kept[place] = value;
            else post(box + (u64)place * Halves, value);
        };
        // Parts whose warps meet once.
        #pragma unroll 1
        for (u32 from = first, to; from < behind; from = to) {
            to = single ? from + 1 : behind - from < Slots ? behind : from + Slots;
            if (single) {
                const u64 before = (u64)from * full, rest = n - before;
                Acc value = alone(Places{at + before, skew, (rest < full ? (u32)rest : full) + skew}, border[edge]);
                if (lane == 0 && Spread) leave(from * Warps + t / 32, value);
                if (lane == 0 && !Spread) warps[set][t / 32] = value;
                edge ^= 1;
            } else {
                Sums sums[4];
                Word asked[4];
                Behind last{Op::none()};
                // Warps take turns, so that none has the longest share of every part.
                u32 turn = t, begin = turn * Lanes;
                #pragma unroll 1
                for (u32 p = from;;) {
                    // What is first asked of the next parts is asked before the values of these are joined.
                    const u64 before = (u64)p * full, rest = n - before;
                    const u32 most = (to - p) * full, left = p >= to ? 0 : rest < most ? (u32)rest : most;
                    auto part = [&](u32 u) {
                        const u32 skipped = u * full, here = left > skipped ? left - skipped : 0;
                        return Places{at + before + skipped, skew, here == 0 ? 0 : (here < full ? here : full) + skew};
                    };
                    bool cut = false;
                    for (u32 u = 0; u < 4; u++) {
                        Places places = part(u);
                        places.ask(asked[u], places.at + begin, begin);
                        cut = cut || places.cut(begin);
                    }
                    if (Skewed) {
                        const u32 u = lane / Lanes % 4, mine = lane / Lanes < 4 ? skew : 0;
                        last.ask(at + before, begin - lane * Lanes, mine, u * full, part(u).end);
                        if (cut) for (u32 u = 0; u < 4; u++) part(u).elements(asked[u], begin);
                    }
                    if (begin == turn * Lanes && p > from) {
                        last.hand_over(sums, skew, words >= 640);
                        Acc value = four(sums);
                        for (u32 u = 0; u < 4; u++) sums[u] = Sums();
                        const u32 mine = p - 4 + lane / 8, w = (turn - 32) % THREADS / 32;
                        if (lane % 8 == 0 && mine < to) {
                            if (Spread) leave(mine * Warps + w, value);
                            else warps[set][(mine - from) * Warps + w] = value;
                        }
                        if (p >= to) break;
                    }
                    for (u32 u = 0; u < 4; u++) sums[u].add(asked[u]);
                    if (Skewed) last.sum = Op::join(last.sum, widen(last.asked));
                    begin += Step;
                    if (begin - lane * Lanes < full + skew) continue;
                    p += 4;
                    turn = (turn + 32) % THREADS;
                    begin = turn * Lanes;
                }
            }
            if (Spread) continue;
            __syncthreads();
            if (t < to - from) leave(from + t, few(warps[set] + t * Warps, Warps));
            set ^= 1;
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
