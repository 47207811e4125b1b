// Any shape of a slice that begins between two words: the same tree, element by element. Its blocks are
// as large as the shape's; those of a spread, which are of 256, have mail for each of their warps.
__device__ Acc across(Part part)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < part.words + (part.left > 0); w += blockDim.x)
        sums.add(some(part.at + (u64)w * Lanes, w < part.words ? Lanes : part.left));
    return warp(sums.all());
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch)
{
    const u32 Most = THREADS / 32;
    __shared__ alignas(16) Acc warps[Most];
    u64* box = state + 2;
    u32 count = blockDim.x / 32;
    bool spread = parts > 1 && blockDim.x == 256;
    // Warps that are not there have nothing.
    if (threadIdx.x < Most - count) warps[count + threadIdx.x] = Op::none();
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; p += gridDim.x) {
        Acc value = across(part(in, n, words, p));
        if (threadIdx.x % 32 == 0) {
            if (spread) post(box + (u64)(p * count + threadIdx.x / 32) * Halves, value);
            else warps[threadIdx.x / 32] = value;
        }
        __syncthreads();
        if (threadIdx.x == 0 && !spread) {
            value = few(warps, Most);
            if (parts > 1) post(box + (u64)p * Halves, value);
            else store(out, n > 0 ? value : Op::empty(), epoch);
        }
        __syncthreads();
    }
    if (parts > 1 && blockIdx.x == gridDim.x - 1)
        finish<Most>(out, box, spread ? parts * count : parts, warps, epoch);
}
