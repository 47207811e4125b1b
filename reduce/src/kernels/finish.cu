// Combines the sums of all chunks in the order of the tree. Each rank's sums are in one block of memory, after a
// stamp of 16 bytes.

// Finds the index of a chunk's sum. If all ranks except the last ones have the same number of chunks, the rank of a
// chunk is computed; `reciprocal` is 2^32 divided by this number of chunks, rounded up, which gives the exact rank for
// every possible number of chunks. If the shards have unequal lengths, `reciprocal` is 0, and a table holds the index.
struct Row {
    const u32* places;
    u32 reciprocal, gap;
    __device__ u32 place(u32 i) const
    {
        return reciprocal > 0 ? i + __umulhi(i, reciprocal) * gap + 16 / (u32)sizeof(Acc) : places[i];
    }
};

// Combines a thread's sums, in the same order as `collect`. `Flight` loads are in flight at the same time, with no
// branch between them. Addresses are computed where possible, because loads from a table would delay the loads of the
// sums.
__device__ Acc gather(const Acc* values, Row row, u32 count, u32 threads)
{
    const int Flight = 16;
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += Flight * threads) {
        Acc some[Flight];
        for (int k = 0; k < Flight; k++) {
            u32 i = first + k * threads;
            some[k] = values[row.place(i < count ? i : first)];
        }
        for (int k = 0; k < Flight; k++)
            value = first + k * threads < count ? Op::join(value, some[k]) : value;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const u64* blocks, void* out, u64 stride, u32 world, u32 count, u32 reciprocal, u32 gap, const u32* places,
    u64 stamp, u32 epoch)
{
    __shared__ alignas(16) Acc warps[THREADS / 32];
    __shared__ u32 wrong;
    if (threadIdx.x == 0) wrong = ~0u;
    __syncthreads();
    // The last threads check the stamps, because the first threads may be the only ones that have sums.
    for (u32 rank = THREADS - 1 - threadIdx.x; rank < world; rank += THREADS)
        if (blocks[rank * stride] != stamp) atomicMin(&wrong, rank);
    Row row = {places, reciprocal, gap};
    u32 threads = count <= 128 ? 32 : THREADS;
    Acc value = Op::none();
    if (threadIdx.x < threads) value = warp(gather((const Acc*)blocks, row, count, threads));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (wrong != ~0u) fail(out, epoch, wrong);
    else store(out, threads > 32 ? few(warps, THREADS / 32) : value, 0, epoch);
}
