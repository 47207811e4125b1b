// Rows of 48 to 192 KiB that begin between two words, where memory can be copied to shared memory in the
// background: while a warp adds what is there, what it adds next is on its way, be it of the next parts or
// of the next row. A block has all parts of a row or some of them, four at once, as in rows_parts.cu.
//
// Whole words of memory are copied, so a thread's sums are those of places of memory, and what is below
// `skew` is of the lane before. The first lane has, at these places, what is behind the last.
enum : u32 { Warps = THREADS / 32, Most = 8 * Warps, Bytes = sizeof(Word), Size = sizeof(In) };

// Rows, and how they are shared out.
struct All { u64 in, n, pitch, items; u32 words, parts, each, shares; };

// What a warp adds next: a word of each lane, from word `at` on, of four parts or of those that there are.
struct Turn {
    u64 item, from;  // the address of the first part's first element
    u32 part, behind, at;
    u32 elements;    // of the first part
    u32 bytes;       // from the first word of memory to the end of these parts
    __device__ bool there(const All& all) const { return item < all.items; }
    __device__ u32 skew() const { return (u32)from % Bytes; }
    __device__ u32 parts() const { return behind - part < 4 ? behind - part : 4; }
    // Which warp it is of a part: they take turns, so that none has the longest share of every part.
    __device__ u32 warp() const { return (threadIdx.x / 32 + part) % Warps; }
    __device__ bool ends() const { return (at + THREADS) * Lanes >= elements; }
    __device__ void enter(const All& all)
    {
        const u32 full = all.words * Lanes, rest = (u32)all.n - part * full, most = parts() * full;
        elements = rest < full ? rest : full;
        bytes = skew() + (rest < most ? rest : most) * Size;
        at = warp() * 32;
    }
    __device__ void next(const All& all)
    {
        if (!ends()) {
            at += THREADS;
        } else if ((part += 4) < behind) {
            from += 4 * all.words * Bytes;
            enter(all);
        } else if ((item += gridDim.x) < all.items) {
            const u64 row = item / all.shares;
            part = (u32)(item % all.shares) * all.each;
            behind = all.parts - part < all.each ? all.parts : part + all.each;
            from = all.in + row * all.pitch * Size + part * all.words * Bytes;
            enter(all);
        }
    }
    // How many bytes of part u may be read, from its first word of memory on.
    __device__ u32 left(const All& all, u32 u) const
    {
        const u32 before = u * all.words * Bytes, most = skew() + all.words * Bytes;
        const u32 rest = bytes > before ? bytes - before : 0;
        return rest < most ? rest : most;
    }
    __device__ void ask(const All& all, Word (*to)[32]) const
    {
        const u32 lane = threadIdx.x % 32, u = lane / Lanes % 4, e = lane % Lanes, apart = all.words * Bytes;
        const u32 first = at * Bytes, mine = first + lane * Bytes;
        const u32 place = first + e * Size + (e * Size < skew() ? 32 * Bytes : 0);
        const char* memory = (const char*)(from - skew());
        if (first + 33 * Bytes <= left(all, 3)) {
            for (u32 u = 0; u < 4; u++) copy<Bytes>(&to[u][lane], memory + mine + u * apart, lane > 0, Bytes);
            copy<Size>(&to[u][0].at[e], memory + place + u * apart, lane < 4 * Lanes, Size);
            return;
        }
        #pragma unroll 1
        for (u32 u = 0; u < 4; u++) {
            const u32 most = left(all, u), rest = mine < most ? most - mine : 0;
            copy<Bytes>(&to[u][lane], memory + mine + u * apart, lane > 0, rest < Bytes ? rest : Bytes);
        }
        copy<Size>(&to[u][0].at[e], memory + place + u * apart, lane < 4 * Lanes, place < left(all, u) ? Size : 0);
    }
    // The first few are read, and the others are zeros. Through the L1: two warps have bytes of one sector.
    template <u32 Count>
    __device__ static void copy(const void* to, const char* from, bool wanted, u32 first)
    {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p cp.async.ca.shared.global [%0], [%1], %2, %3; }"
                     :: "r"((u32)__cvta_generic_to_shared(to)), "l"(from), "n"(Count), "r"(first), "r"((u32)wanted)
                     : "memory");
    }
};

// Sums by places become those of words. How a thread's sums are joined does not change, since to turn them
// changes no pair.
__device__ void hand_over(Sums& sums, u32 skew)
{
    for (u32 e = 0; e < Lanes - 1; e++) {
        Acc next = __shfl_sync(~0u, sums.at[e], (threadIdx.x + 1) % 32);
        if (e * Size < skew) sums.at[e] = next;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 words, u32 parts, u32 each, u64* state)
{
    // Of each warp four words a lane that are there, and four that come.
    __shared__ Word rings[Warps][2][4][32];
    // Two sets: while one warp joins what is in one, the others fill the next.
    __shared__ alignas(16) Acc kept[2][Most];
    const u32 t = threadIdx.x, lane = t % 32, shares = (parts + each - 1) / each, count = parts * Warps;
    const All all{(u64)in, n, pitch, m * shares, words, parts, each, shares};
    // What comes before the first.
    Turn turn{(u64)blockIdx.x - gridDim.x};
    Sums sums[4];
    u32 slot = 0, set = 0;
    #pragma unroll 1
    for (Turn ahead = turn;; turn = ahead) {
        ahead.next(all);
        asm volatile("cp.async.wait_all;" ::: "memory");
        // What was copied is there for all lanes, and what was there before has been taken by all.
        __syncwarp();
        const bool there = turn.there(all);
        if (ahead.there(all)) ahead.ask(all, rings[t / 32][slot ^ 1]);
        else if (!there) return;
        for (u32 u = 0; u < 4; u++) if (there) sums[u].add(rings[t / 32][slot][u][lane]);
        slot ^= 1;
        if (!there || !turn.ends()) continue;

        for (u32 u = 0; u < 4; u++) hand_over(sums[u], turn.skew());
        Acc value = four(sums);
        for (u32 u = 0; u < 4; u++) sums[u] = Sums();
        const u64 row = turn.item / shares;
        u64* box = state + row * count * Halves;
        if (lane % 8 == 0 && lane / 8 < turn.parts()) {
            const u32 place = (turn.part + lane / 8) * Warps + turn.warp();
            if (shares == 1) kept[set][place] = value;
            else post(box + place * Halves, value);
        }
        if (turn.part + 4 < turn.behind || turn.behind < parts) continue;
        // One block has all of a row, or the last of its parts, and waits for the others'.
        if (shares == 1) __syncthreads();
        if (t < 32) {
            value = Op::none();
            if (shares > 1) value = collect(box, count, 32);
            else for (u32 i = t; i < count; i += 32) value = Op::join(value, kept[set][i]);
            value = warp(value);
            if (t == 0) store(out + row, value, 0);
        }
        set ^= 1;
    }
}
