// Computes the dot product of two slices of many chunks. Each block adds one chunk and, if there are more chunks
// than blocks, draws a ticket for its next one, as in chunks.cu.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* a, const In* b, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2];
    const bool together = ((u64)a | (u64)b) % 16 == 0;
    u32 set = 0;
    u64* slots = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; set ^= 1) {
        if (threadIdx.x == 0)
            next[set] = chunks > gridDim.x ? atomicInc((u32*)state, chunks - 1) + gridDim.x : chunks;
        Sums sums;
        products(sums, pair(a, b, n, vectors, p), threadIdx.x, THREADS, together);
        const Acc value = warp(sums.all());
        if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) publish(slots + (u64)p * Halves, few(warps[set], Warps));
        p = next[set];
    }
    if (blockIdx.x == gridDim.x - 1) finish<Warps>(out, slots, chunks, warps[set], n, epoch);
}
