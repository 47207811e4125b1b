// The tree of a chunk. A thread adds its vectors in order, element by element; then the thread's sums are combined, and
// then the values of all lanes of the warp.

// A thread's accumulators: one for each element of a vector or, with PAIRS, one for each pair of elements.
struct Sums {
    enum : u32 { Count = PAIRS ? 4 : Width };
    Local at[Count];
    __device__ Sums() { for (int e = 0; e < Count; e++) at[e] = Op::start(); }
    __device__ void add(const Vector& vector)
    {
#if PAIRS
        for (int e = 0; e < Count; e++) at[e] = Op::add(at[e], vector.word[e]);
#else
        for (int e = 0; e < Count; e++) at[e] = Op::add(at[e], vector.at[e]);
#endif
    }
    __device__ Acc all() const
    {
        Acc value[Count];
        for (int e = 0; e < Count; e++) value[e] = Op::value(at[e]);
        for (int s = Count / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) value[e] = Op::join(value[e], value[e + s]);
        return value[0];
    }
};

// Combines the values of a warp in lane 0. On Ampere and newer GPUs, one instruction does this for some operations.
__device__ Acc warp(Acc value)
{
#if VALUE == 4
    Acc all;
    asm volatile("WARP %0, %1;" : "=" VALUES (all) : VALUES (value));
    return all;
#else
    for (int s = 16; s > 0; s /= 2) value = Op::join(value, __shfl_down_sync(~0u, value, s));
    return value;
#endif
}

// Combines the values of `count` warps, which are in shared memory. A single thread does this, which is faster than
// five shuffles.
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

// Loads the first `count` elements of a vector; the others are neutral elements.
__device__ Vector some(const In* at, u32 count)
{
    Vector vector = blank();
    for (int e = 0; e < Width; e++) if (e < count) vector.at[e] = at[e];
    return vector;
}

// Adds at most Rows vectors per thread; all loads are in flight before the first vector is added. One thread also adds
// the incomplete last vector. With Early, this vector is loaded with the others, because nothing else hides its
// latency.
template <u32 Threads, u32 Rows, bool Early>
__device__ void rows(Sums& sums, Chunk chunk)
{
    Vector vectors[Rows], last = blank();
    bool owner = chunk.tail > 0 && chunk.vectors % Threads == threadIdx.x;
    #pragma unroll
    for (int r = 0; r < Rows; r++) {
        u32 w = r * Threads + threadIdx.x;
        vectors[r] = blank();
        load(vectors[r], chunk.at + w * Width, w < chunk.vectors);
    }
    #pragma unroll
    for (int e = 0; Early && e < Width - 1; e++)
        load(last, e, chunk.at + chunk.vectors * Width + e, owner && e < chunk.tail);
    #pragma unroll
    for (int r = 0; r < Rows; r++) sums.add(vectors[r]);
    if (!Early && owner) last = some(chunk.at + chunk.vectors * Width, chunk.tail);
    if (owner) sums.add(last);
}

// Adds batches of Rows vectors per thread, and then the remaining vectors.
template <u32 Threads, u32 Rows>
__device__ void batches(Sums& sums, Chunk chunk)
{
    const u32 Batch = Threads * Rows;
    #pragma unroll 1
    for (; chunk.vectors >= Batch; chunk.vectors -= Batch, chunk.at += Batch * Width) {
        Vector vectors[Rows];
        #pragma unroll
        for (int r = 0; r < Rows; r++) load(vectors[r], chunk.at + (r * Threads + threadIdx.x) * Width, true);
        #pragma unroll
        for (int r = 0; r < Rows; r++) sums.add(vectors[r]);
    }
    if (chunk.vectors > 0 || chunk.tail > 0) rows<Threads, Rows, false>(sums, chunk);
}

// Adds a chunk of an aligned slice with one block. With Long, the chunk may have more vectors than can be in flight.
// Lane 0 gets the warp's value.
template <u32 Threads, u32 Rows, bool Long, bool Early = false>
__device__ Acc tile(Chunk chunk)
{
    Sums sums;
    if (Long) batches<Threads, Rows>(sums, chunk);
    else rows<Threads, Rows, Early>(sums, chunk);
    return warp(sums.all());
}
