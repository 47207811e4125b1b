// A few parts, and every warp posts its value: no block waits for its own. The last one waits for all
// of them, and they have started before it.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    u64* box = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; p += gridDim.x) {
        Acc value = tile<THREADS, ROWS, false, true>(part(in, n, words, p));
        if (threadIdx.x % 32 == 0) post(box + (u64)(p * Warps + threadIdx.x / 32) * Halves, value);
    }
    if (blockIdx.x == gridDim.x - 1) finish<1>(out, box, parts * Warps, nullptr, epoch);
}
