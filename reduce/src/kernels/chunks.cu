// Many parts, a block each, or drawn by whoever is free; the last block waits for the mail of all.
// `state` is the next ticket, then the boxes.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    // Two sets: while one thread adds what the warps left in one, they fill the other.
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2];
    u32 turn = 0;
    u64* box = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; turn ^= 1) {
        // The draws of one launch are as many as its parts, so the counter ends where it began.
        if (threadIdx.x == 0)
            next[turn] = parts > gridDim.x ? atomicInc((u32*)state, parts - 1) + gridDim.x : parts;
        Acc value = tile<THREADS, ROWS, true>(part(in, n, words, p));
        if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) post(box + (u64)p * Halves, few(warps[turn], Warps));
        p = next[turn];
    }
    if (blockIdx.x == gridDim.x - 1) finish<Warps>(out, box, parts, warps[turn], epoch);
}
