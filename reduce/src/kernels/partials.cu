// Stores the sums of a shard's chunks, in order; they are then sent to the other ranks. The sums follow a stamp of 16
// bytes, which identifies the call and the plan. The first sum has the index `at`.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, u64* block, u64 n, u32 vectors, u32 chunks, u64* state, u64 stamp, u32 at)
{
    const u32 Warps = THREADS / 32;
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2];
    u32 set = 0;
    Acc* values = (Acc*)(block + 2);
    if (blockIdx.x == 0 && threadIdx.x == 0) block[0] = stamp;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; set ^= 1) {
        if (threadIdx.x == 0) next[set] = draw(state, chunks);
        Acc value = whole(chunk(in, n, vectors, p), in);
        if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) values[at + p] = few(warps[set], Warps);
        p = next[set];
    }
}
