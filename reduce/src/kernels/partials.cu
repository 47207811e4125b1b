// The sums of a shard's parts, in order, for whoever carries them to the other ranks. The block that is
// carried begins with a stamp, in 16 bytes, which says which call of which plan it belongs to; the first sum goes to place `at`.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, u64* block, u64 n, u32 words, u32 parts, u64* state, u64 stamp, u32 at)
{
    const u32 Warps = THREADS / 32;
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2];
    u32 turn = 0;
    Acc* values = (Acc*)(block + 2);
    if (blockIdx.x == 0 && threadIdx.x == 0) block[0] = stamp;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; turn ^= 1) {
        if (threadIdx.x == 0) next[turn] = draw(state, parts);
        Acc value = whole(part(in, n, words, p), in);
        if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) values[at + p] = few(warps[turn], Warps);
        p = next[turn];
    }
}
