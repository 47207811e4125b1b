// A few parts, and every warp posts its value: no block waits for its own. A warp of the last one waits for
// all of them, which have started before it, and joins them as it has joined a part.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32;
    u64* box = state + 2;
    #pragma unroll 1
    for (u32 p = blockIdx.x;; p += gridDim.x) {
        const bool ends = p >= parts;
        Acc value;
        if (ends) {
            if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
            value = collect(box, parts * Warps, 32);
        } else {
            Sums sums;
            rows<THREADS, ROWS, false>(sums, part(in, n, words, p));
            value = sums.all();
        }
        value = warp(value);
        if (threadIdx.x % 32 == 0) {
            if (ends) store(out, value, epoch);
            else post(box + (u64)(p * Warps + threadIdx.x / 32) * Halves, value);
        }
        if (ends) return;
    }
}
