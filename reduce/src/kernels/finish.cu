// The tree over all parts' sums, which lie in a block for each rank: a stamp in 16 bytes, then the sums
// of its parts.

// Where a part's sum lies, counted in sums. Where every rank has as many parts, but the last that has any,
// the rank is computed: `share` of 2^32 is a part, rounded up, which is exact for as few as there are. It
// is 0 where shards are ragged, and a table says the place.
struct Row {
    const u32* places;
    u32 share, gap;
    __device__ u32 place(u32 i) const
    {
        return share > 0 ? i + __umulhi(i, share) * gap + 16 / (u32)sizeof(Acc) : places[i];
    }
};

// A thread's share, in the order in which mail is collected. So many are asked for at once, and
// no branch waits between them; where they lie is computed, as a table would be waited for first.
__device__ Acc gather(const Acc* values, Row row, u32 count, u32 threads)
{
    const int Asked = 16;
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += Asked * threads) {
        Acc some[Asked];
        for (int k = 0; k < Asked; k++) {
            u32 i = first + k * threads;
            some[k] = values[row.place(i < count ? i : first)];
        }
        for (int k = 0; k < Asked; k++)
            value = first + k * threads < count ? Op::join(value, some[k]) : value;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const u64* blocks, void* out, u64 stride, u32 world, u32 count, u32 share, u32 gap, const u32* places,
    u64 stamp, u32 epoch)
{
    __shared__ alignas(16) Acc warps[THREADS / 32];
    __shared__ u32 wrong;
    if (threadIdx.x == 0) wrong = ~0u;
    __syncthreads();
    // By the last threads, as the first ones may have all the sums.
    for (u32 rank = THREADS - 1 - threadIdx.x; rank < world; rank += THREADS)
        if (blocks[rank * stride] != stamp) atomicMin(&wrong, rank);
    Row row = {places, share, gap};
    u32 threads = count <= 128 ? 32 : THREADS;
    Acc value = Op::none();
    if (threadIdx.x < threads) value = warp(gather((const Acc*)blocks, row, count, threads));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (wrong != ~0u) tell(out, epoch, wrong);
    else store(out, threads > 32 ? few(warps, THREADS / 32) : value, epoch);
}
