// Reduces a small slice whose elements are on several ranks, or have been gathered into one memory block per rank. The
// elements are read one by one and combined in the tree of the slice's shape. Blocks have the size that the shape
// prescribes. In a spread, each warp publishes its value.

// The address of each rank's elements, and the index of its first element.
struct Shards {
    const In* const* at;
    const u32* first;
    const In* current;
    u32 rank, begin, end;

    // A thread must read elements in increasing order.
    __device__ In element(u32 i)
    {
        #pragma unroll 1
        while (i >= end) {
            rank++;
            current = at[rank];
            begin = end;
            end = first[rank + 1];
        }
        return current[i - begin];
    }
};

__device__ Acc gathered(Shards& shards, u32 n, u32 from, u32 vectors)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < vectors && (from + w) * Width < n; w += blockDim.x) {
        Vector vector = blank();
        for (u32 e = 0; e < Width; e++) {
            u32 i = (from + w) * Width + e;
            if (i < n) vector.at[e] = shards.element(i);
        }
        sums.add(vector);
    }
    return warp(sums.all());
}

// If the elements were gathered, a stamp of 16 bytes precedes them at each address; otherwise, `stamp` is 0.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* const* at, void* out, const u32* first, u32 world, u32 vectors, u32 chunks, u64* state,
    u64 stamp, u32 epoch)
{
    const u32 Most = THREADS / 32;
    __shared__ alignas(16) Acc warps[Most];
    __shared__ u32 wrong;
    u64* slots = state + 2;
    u32 n = first[world], count = blockDim.x / 32;
    Shards shards = {at, first, at[0], 0, 0, first[1]};
    if (threadIdx.x == 0) wrong = ~0u;
    // Entries beyond the block's last warp are neutral elements.
    if (threadIdx.x < Most - count) warps[count + threadIdx.x] = Op::none();
    __syncthreads();
    if (stamp != 0)
        for (u32 rank = threadIdx.x; rank < world; rank += blockDim.x)
            if (((const u64*)at[rank])[-2] != stamp) atomicMin(&wrong, rank);
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; p += gridDim.x) {
        Acc value = gathered(shards, n, p * vectors, vectors);
        if (threadIdx.x % 32 > 0) continue;
        if (chunks > 1) publish(slots + (u64)(p * count + threadIdx.x / 32) * Halves, value);
        else warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
    Acc value = chunks > 1 ? warp(collect(slots, chunks * count, 32)) : few(warps, Most);
    if (threadIdx.x > 0) return;
    if (wrong != ~0u) fail(out, epoch, wrong);
    else store(out, n > 0 ? value : Op::empty(), n, epoch);
}
