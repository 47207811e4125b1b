// All of a small slice, whose elements lie with their ranks, or were gathered in a block for each. They
// are read one by one, and joined in the tree of the slice's shape, whoever has them. Blocks are as large
// as the shape's; those of a spread have mail for each of their warps.

// Rank by rank, where its elements are, and which is the first of them.
struct Shards {
    const In* const* at;
    const u32* first;
    const In* here;
    u32 rank, begin, end;

    // A thread asks for elements in their order.
    __device__ In element(u32 i)
    {
        #pragma unroll 1
        while (i >= end) {
            rank++;
            here = at[rank];
            begin = end;
            end = first[rank + 1];
        }
        return here[i - begin];
    }
};

__device__ Acc gathered(Shards& shards, u32 n, u32 from, u32 words)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < words && (from + w) * Lanes < n; w += blockDim.x) {
        Word word = blank();
        for (u32 e = 0; e < Lanes; e++) {
            u32 i = (from + w) * Lanes + e;
            if (i < n) word.at[e] = shards.element(i);
        }
        sums.add(word);
    }
    return warp(sums.all());
}

// Before the elements of a block is its stamp, 16 bytes long; where there is none, `stamp` is 0.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* const* at, void* out, const u32* first, u32 world, u32 words, u32 parts, u64* state,
    u64 stamp, u32 epoch)
{
    const u32 Most = THREADS / 32;
    __shared__ alignas(16) Acc warps[Most];
    __shared__ u32 wrong;
    u64* box = state + 2;
    u32 n = first[world], count = blockDim.x / 32;
    Shards shards = {at, first, at[0], 0, 0, first[1]};
    if (threadIdx.x == 0) wrong = ~0u;
    // Warps that are not there have nothing.
    if (threadIdx.x < Most - count) warps[count + threadIdx.x] = Op::none();
    __syncthreads();
    if (stamp != 0)
        for (u32 rank = threadIdx.x; rank < world; rank += blockDim.x)
            if (((const u64*)at[rank])[-2] != stamp) atomicMin(&wrong, rank);
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; p += gridDim.x) {
        Acc value = gathered(shards, n, p * words, words);
        if (threadIdx.x % 32 > 0) continue;
        if (parts > 1) post(box + (u64)(p * count + threadIdx.x / 32) * Halves, value);
        else warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
    Acc value = parts > 1 ? warp(collect(box, parts * count, 32)) : few(warps, Most);
    if (threadIdx.x > 0) return;
    if (wrong != ~0u) tell(out, epoch, wrong);
    else store(out, n > 0 ? value : Op::empty(), epoch);
}
