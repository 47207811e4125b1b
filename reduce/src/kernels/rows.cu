// Rows: each is added in the order of a slice of its length, so its words are counted from its first
// element, wherever that lies. With ALIGNED all rows begin with a word of memory and have whole words;
// otherwise a word is loaded element by element, which the L1 makes one of.
enum : bool { Aligned = ALIGNED };

#define LOAD_ONE(Type, kind, name)                                                             \
    __device__ void load_one(Type& value, const Type* at, bool wanted)                         \
    {                                                                                          \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc." kind " %0, [%1]; }" \
                     : "+" name(value) : "l"(at), "r"((u32)wanted));                           \
    }
LOAD_ONE(unsigned short, "u16", "h")
LOAD_ONE(float, "f32", "f")
LOAD_ONE(int, "u32", "r")
LOAD_ONE(double, "f64", "d")
LOAD_ONE(long long, "u64", "l")

// What four loads of a thread are of: of runs of elements, so many each.
struct Runs { const In* at[4]; u32 count[4]; };

// Runs whose words are by turns those of one, `every` words of each.
__device__ Runs turns_of(const In* at, u32 count, u32 every)
{
    Runs runs;
    for (u32 u = 0; u < 4; u++) {
        u32 before = u * every * Lanes;
        runs.at[u] = at + before;
        runs.count[u] = count > before ? count - before : 0;
    }
    return runs;
}

// Has a word loaded of whose run `count` elements there are, `begin` of them before it.
__device__ void fetch(Word& word, const In* at, u32 begin, u32 count)
{
    word = blank();
    if (Aligned) load(word, at, begin < count);
    else for (int e = 0; e < Lanes; e++) load_one(word.at[e], at + e, begin + e < count);
}

// Thread t adds words t, t + step, … of each run, of which none has more than `most` elements. With
// `deep` the runs are turns of one, and have one sum.
__device__ void add(Sums* sums, const Runs& runs, u32 most, u32 t, u32 step, bool deep)
{
    const u32 lane = t % 32 * Lanes;
    // A warp that has nothing to load has nothing more to do.
    #pragma unroll 1
    for (u32 begin = t * Lanes; begin - lane < most; begin += step * Lanes) {
        Word words[4];
        for (int u = 0; u < 4; u++) fetch(words[u], runs.at[u] + begin, begin, runs.count[u]);
        if (deep) for (int u = 0; u < 4; u++) sums[0].add(words[u]);
        else for (int u = 0; u < 4; u++) sums[u].add(words[u]);
    }
}

// Half of the values are handed to the lane that is `s` away, which joins them to its own: lanes in whose
// number bit s is set have the upper half.
template <u32 Count>
__device__ void trade(Acc* values, u32 s)
{
    bool upper = threadIdx.x & s;
    for (int i = 0; i < Count / 2; i++) {
        Acc mine = upper ? values[i + Count / 2] : values[i], theirs = upper ? values[i] : values[i + Count / 2];
        values[i] = Op::join(mine, __shfl_xor_sync(~0u, theirs, s));
    }
}

// The warp's value of each of four sums: lanes 8u to 8u + 7 have that of sum u.
__device__ Acc four(const Sums* sums)
{
    Acc value[4];
    for (int u = 0; u < 4; u++) value[u] = sums[u].all();
    trade<4>(value, 16);
    trade<2>(value, 8);
    for (u32 s = 4; s > 0; s /= 2) value[0] = Op::join(value[0], __shfl_xor_sync(~0u, value[0], s));
    return value[0];
}
