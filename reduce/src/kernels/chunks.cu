// Reduces a slice of many chunks. Each block adds one chunk and, if there are more chunks than blocks, draws a ticket
// for its next one. The last block consumes the messages of all chunks. `state` holds the next ticket, followed by the
// slots.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    // There are two sets of values: while one thread adds the values in one set, the warps fill the other.
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2];
    u32 set = 0;
    u64* slots = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; set ^= 1) {
        // A launch draws as many tickets as it has chunks, so the counter wraps to its initial value.
        if (threadIdx.x == 0)
            next[set] = chunks > gridDim.x ? atomicInc((u32*)state, chunks - 1) + gridDim.x : chunks;
        Acc value = tile<THREADS, ROWS, true>(chunk(in, n, vectors, p));
        if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) publish(slots + (u64)p * Halves, few(warps[set], Warps));
        p = next[set];
    }
    if (blockIdx.x == gridDim.x - 1) finish<Warps>(out, slots, chunks, warps[set], n, epoch);
}
