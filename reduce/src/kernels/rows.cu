// Reduces rows. Each row is added in the same order as a slice of its length, so its vectors are numbered from the
// row's first element. With ALIGNED, all rows are aligned and consist of whole vectors. Otherwise, vectors are loaded
// element by element, and the L1 cache merges these loads.
enum : bool { Aligned = ALIGNED };

// Loads an element if `wanted` is true.
__device__ void load_one(In& value, const In* at, bool wanted)
{
#define LOAD(type, c, value) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc." type " %0, [%1]; }" \
                 : "+" c(value) : "l"(at), "r"((u32)wanted))
#if ELEMENT == 1
    u32 wide = value;
    LOAD("u8", "r", wide);
    value = (u8)wide;
#elif ELEMENT == 2
    LOAD("u16", "h", value);
#elif ELEMENT == 4
    LOAD("u32", "r", value);
#else
    LOAD("u64", "l", value);
#endif
#undef LOAD
}

// Four runs of elements: a thread loads from all four at the same time.
struct Runs { const In* at[4]; u32 count[4]; };

// Splits one run into four runs, which are interleaved in groups of `every` vectors.
__device__ Runs split(const In* at, u32 count, u32 every)
{
    Runs runs;
    for (u32 u = 0; u < 4; u++) {
        u32 before = u * every * Width;
        runs.at[u] = at + before;
        runs.count[u] = count > before ? count - before : 0;
    }
    return runs;
}

// Loads the vector that begins at element `begin` of a run of `count` elements.
__device__ void fetch(Vector& vector, const In* at, u32 begin, u32 count)
{
    vector = blank();
    if (Aligned) load(vector, at, begin < count);
    else for (int e = 0; e < Width; e++) load_one(vector.at[e], at + e, begin + e < count);
}

// Thread t adds vectors t, t + step, … of each run. A run has at most `most` elements. With `deep`, the runs are parts
// of one split run, and are added to one sum.
__device__ void add(Sums* sums, const Runs& runs, u32 most, u32 t, u32 step, bool deep)
{
    const u32 lane = t % 32 * Width;
    // The loop ends when no lane of the warp has anything left to load.
    #pragma unroll 1
    for (u32 begin = t * Width; begin - lane < most; begin += step * Width) {
        Vector vectors[4];
        for (int u = 0; u < 4; u++) fetch(vectors[u], runs.at[u] + begin, begin, runs.count[u]);
        if (deep) for (int u = 0; u < 4; u++) sums[0].add(vectors[u]);
        else for (int u = 0; u < 4; u++) sums[u].add(vectors[u]);
    }
}

// Exchanges half of the values with lane `lane ^ s`, and combines the received values with the lane's own. Lanes in
// which `lane & s` is not 0 keep the upper half.
template <u32 Count>
__device__ void trade(Acc* values, u32 s)
{
    bool upper = threadIdx.x & s;
    for (int i = 0; i < Count / 2; i++) {
        Acc mine = upper ? values[i + Count / 2] : values[i], theirs = upper ? values[i] : values[i + Count / 2];
        values[i] = Op::join(mine, __shfl_xor_sync(~0u, theirs, s));
    }
}

// Returns the warp's value for each of four sums: lanes 8u to 8u + 7 get the value of sum u.
__device__ Acc four(const Sums* sums)
{
    Acc value[4];
    for (int u = 0; u < 4; u++) value[u] = sums[u].all();
    trade<4>(value, 16);
    trade<2>(value, 8);
    for (u32 s = 4; s > 0; s /= 2) value[0] = Op::join(value[0], __shfl_xor_sync(~0u, value[0], s));
    return value[0];
}
