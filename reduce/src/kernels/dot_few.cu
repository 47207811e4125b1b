// Computes the dot product of two slices of one or a few chunks. Blocks have the size that the shape prescribes. In
// a spread, blocks have 256 threads, and each warp publishes its value.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* a, const In* b, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    const u32 Most = THREADS / 32, count = blockDim.x / 32;
    __shared__ alignas(16) Acc warps[Most];
    const bool together = ((u64)a | (u64)b) % 16 == 0;
    u64* slots = state + 2;
    // Entries beyond the block's last warp are neutral elements.
    if (threadIdx.x < Most - count) warps[count + threadIdx.x] = Op::none();
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; p += gridDim.x) {
        Sums sums;
        products(sums, pair(a, b, n, vectors, p), threadIdx.x, blockDim.x, together);
        Acc value = warp(sums.all());
        if (chunks > 1) {
            if (threadIdx.x % 32 == 0) publish(slots + (u64)(p * count + threadIdx.x / 32) * Halves, value);
            continue;
        }
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) store(out, n > 0 ? few(warps, Most) : Op::empty(), n, epoch);
    }
    if (chunks > 1 && blockIdx.x == gridDim.x - 1) finish<1>(out, slots, chunks * count, nullptr, n, epoch);
}
