// Reduces an unaligned slice of any shape. The tree is the same as for an aligned slice, but vectors are loaded element
// by element. Blocks have the size that the shape prescribes. In a spread, blocks have 256 threads, and each warp
// publishes its value.
__device__ Acc across(Chunk chunk)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < chunk.vectors + (chunk.tail > 0); w += blockDim.x)
        sums.add(some(chunk.at + (u64)w * Width, w < chunk.vectors ? Width : chunk.tail));
    return warp(sums.all());
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    const u32 Most = THREADS / 32;
    __shared__ alignas(16) Acc warps[Most];
    u64* slots = state + 2;
    u32 count = blockDim.x / 32;
    bool spread = chunks > 1 && blockDim.x == 256;
    // Entries beyond the block's last warp are neutral elements.
    if (threadIdx.x < Most - count) warps[count + threadIdx.x] = Op::none();
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; p += gridDim.x) {
        Acc value = across(chunk(in, n, vectors, p));
        if (threadIdx.x % 32 == 0) {
            if (spread) publish(slots + (u64)(p * count + threadIdx.x / 32) * Halves, value);
            else warps[threadIdx.x / 32] = value;
        }
        __syncthreads();
        if (threadIdx.x == 0 && !spread) {
            value = few(warps, Most);
            if (chunks > 1) publish(slots + (u64)p * Halves, value);
            else store(out, n > 0 ? value : Op::empty(), n, epoch);
        }
        __syncthreads();
    }
    if (chunks > 1 && blockIdx.x == gridDim.x - 1)
        finish<Most>(out, slots, spread ? chunks * count : chunks, warps, n, epoch);
}
