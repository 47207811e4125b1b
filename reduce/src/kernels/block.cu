// A single block adds the only chunk. A block of one warp needs no barrier.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    __shared__ alignas(16) Acc warps[THREADS / 32];
    Acc value = tile<THREADS, ROWS, false, true>(Chunk{in, (u32)(n / Width), (u32)(n % Width)});
    if (THREADS > 32) {
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) value = few(warps, THREADS / 32);
    }
    if (threadIdx.x == 0) store(out, n > 0 ? value : Op::empty(), n, epoch);
}
