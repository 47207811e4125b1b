// Reduces a slice of a few chunks. Every warp publishes its value, so no block needs a barrier. The last block, which
// starts after the others, consumes all messages.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    u64* slots = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; p += gridDim.x) {
        Acc value = tile<THREADS, ROWS, false, true>(chunk(in, n, vectors, p));
        if (threadIdx.x % 32 == 0) publish(slots + (u64)(p * Warps + threadIdx.x / 32) * Halves, value);
    }
    if (blockIdx.x == gridDim.x - 1) finish<1>(out, slots, chunks * Warps, nullptr, n, epoch);
}
