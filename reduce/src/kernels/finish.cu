// The tree over all parts' sums, which lie in a block for each rank: a stamp in 16 bytes, then the sums
// of the parts `first[rank]` to `first[rank + 1]`.

// What went wrong instead of a result, beside it: which rank, or which part.
__device__ void tell(void* out, u32 epoch, u32 what)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                 :: "l"((u64*)out + 2), "l"((u64)epoch << 32 | what) : "memory");
}

// A thread's share, in the order in which mail is collected.
__device__ Acc gather(const u64* blocks, u64 stride, u32 count, const u32* first, u32 threads)
{
    const int Asked = 8;
    Acc value = Op::none();
    u32 rank = 0, begin = 0, end = first[1];
    #pragma unroll 1
    for (u32 from = threadIdx.x; from < count; from += Asked * threads) {
        Acc values[Asked];
        for (int k = 0; k < Asked; k++) {
            u32 i = from + k * threads;
            values[k] = Op::none();
            if (i >= count) continue;
            #pragma unroll 1
            while (i >= end) {
                rank++;
                begin = end;
                end = first[rank + 1];
            }
            values[k] = ((const Acc*)(blocks + rank * stride + 2))[i - begin];
        }
        for (int k = 0; k < Asked; k++) value = Op::join(value, values[k]);
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const u64* blocks, void* out, u64 stride, u32 world, u32 count, const u32* first, u64 stamp,
    u32 epoch)
{
    __shared__ alignas(16) Acc warps[THREADS / 32];
    __shared__ u32 wrong;
    if (threadIdx.x == 0) wrong = ~0u;
    __syncthreads();
    for (u32 rank = threadIdx.x; rank < world; rank += THREADS)
        if (blocks[rank * stride] != stamp) atomicMin(&wrong, rank);
    u32 threads = count <= 128 ? 32 : THREADS;
    Acc value = Op::none();
    if (threadIdx.x < threads) value = warp(gather(blocks, stride, count, first, threads));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (wrong != ~0u) tell(out, epoch, wrong);
    else store(out, threads > 32 ? few(warps, THREADS / 32) : value, epoch);
}
