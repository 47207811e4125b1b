// The tree of a tile: a thread's words in order, lane by lane; its lanes; its warp.

// Halves are ordered as pairs where one instruction does it: no order of joining changes an extreme.
#if __CUDA_ARCH__ >= 800
enum : bool { Pairs = Narrow && Op::Order };
#else
enum : bool { Pairs = false };
#endif

// One value for each lane of a word.
struct Sums {
    union { Acc at[Lanes]; u32 pair[4]; };
    __device__ Sums()
    {
        if (Pairs) for (int p = 0; p < 4; p++) pair[p] = 0x7fff7fff;
        else for (int e = 0; e < Lanes; e++) at[e] = Op::none();
    }
    __device__ void add(const Word& word)
    {
        if (Pairs) for (int p = 0; p < 4; p++) pair[p] = Op::pairs(pair[p], word.part[p]);
        else for (int e = 0; e < Lanes; e++) at[e] = Op::join(at[e], widen(word.at[e]));
    }
    __device__ Acc all() const
    {
        Acc value[Lanes];
        for (int e = 0; e < Lanes; e++)
            value[e] = Pairs ? widen((In)(pair[e / 2] >> e % 2 * 16)) : at[e];
        for (int s = Lanes / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) value[e] = Op::join(value[e], value[e + s]);
        return value[0];
    }
};

// Lane 0 has the value of all. From Ampere on one instruction does it for 32-bit integers.
template <class T>
__device__ T warp(T value)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4 && Integer) return Op::redux(value);
    else
#endif
    for (int s = 16; s > 0; s /= 2) value = Op::join(value, __shfl_down_sync(~0u, value, s));
    return value;
}

// What `count` warps left in shared memory, by one thread: sooner done than five shuffles.
__device__ Acc few(const Acc* values, u32 count)
{
    if (count == 1) return values[0];
    const u32 Each = sizeof(Values) / sizeof(Acc);
    Acc sums[Each];
    for (int e = 0; e < Each; e++) sums[e] = Op::none();
    #pragma unroll
    for (u32 i = 0; i < count / Each; i++) {
        Values some = ((const Values*)values)[i];
        for (int e = 0; e < Each; e++) sums[e] = Op::join(sums[e], some.at[e]);
    }
    for (int s = Each / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] = Op::join(sums[e], sums[e + s]);
    return sums[0];
}

// The first `left` elements of a word.
__device__ Word some(const In* at, u32 left)
{
    Word word = blank();
    for (int e = 0; e < Lanes; e++) if (e < left) word.at[e] = at[e];
    return word;
}

// At most Rows words a thread, all in flight before the first is added; the one that is not whole has
// an owner too. Where nothing hides a load that comes late, it is Early: asked for with the others.
template <u32 Threads, u32 Rows, bool Early>
__device__ void rows(Sums& sums, Part part)
{
    Word words[Rows], last = blank();
    bool owner = part.left > 0 && part.words % Threads == threadIdx.x;
    #pragma unroll
    for (int r = 0; r < Rows; r++) {
        u32 w = r * Threads + threadIdx.x;
        words[r] = blank();
        load(words[r], part.at + w * Lanes, w < part.words);
    }
    #pragma unroll
    for (int e = 0; Early && e < Lanes - 1; e++)
        load(last, e, part.at + part.words * Lanes + e, owner && e < part.left);
    #pragma unroll
    for (int r = 0; r < Rows; r++) sums.add(words[r]);
    if (!Early && owner) last = some(part.at + part.words * Lanes, part.left);
    if (owner) sums.add(last);
}

// As many full rows as there are, and those that remain.
template <u32 Threads, u32 Rows>
__device__ void batches(Sums& sums, Part part)
{
    const u32 Batch = Threads * Rows;
    #pragma unroll 1
    for (; part.words >= Batch; part.words -= Batch, part.at += Batch * Lanes) {
        Word words[Rows];
        #pragma unroll
        for (int r = 0; r < Rows; r++) load(words[r], part.at + (r * Threads + threadIdx.x) * Lanes, true);
        #pragma unroll
        for (int r = 0; r < Rows; r++) sums.add(words[r]);
    }
    if (part.words > 0 || part.left > 0) rows<Threads, Rows, false>(sums, part);
}

// A part of a block, in a slice that begins with a word; with Long, of more rows than can be in flight.
// Lane 0 has the value of the warp.
template <u32 Threads, u32 Rows, bool Long, bool Early = false>
__device__ Acc tile(Part part)
{
    Sums sums;
    if (Long) batches<Threads, Rows>(sums, part);
    else rows<Threads, Rows, Early>(sums, part);
    return warp(sums.all());
}
