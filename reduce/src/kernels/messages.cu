// Messages: values that blocks publish to the last block through global memory. An empty slot is zero.

// Publishes a value. Each store has 32 bits of the value and a flag, so no fence is needed.
__device__ void publish(u64* slot, Acc value)
{
    union { Acc value; u32 half[Halves]; } bits;
    bits.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                     :: "l"(slot + h), "l"(1ull << 32 | bits.half[h]) : "memory");
}

__device__ u64 poll(const u64* slot)
{
    u64 bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(slot) : "memory");
    return bits;
}

// Consumes this thread's messages in order: polls each slot until it is filled, and then empties the slot. There are
// `count` messages in total.
__device__ Acc collect(u64* slots, u32 count, u32 threads)
{
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += 4 * threads) {
        u64 loaded[4][Halves];
        for (int k = 0; k < 4; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * threads;
                loaded[k][h] = i < count ? poll(slots + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < 4; k++) {
            u32 i = first + k * threads;
            if (i >= count) break;
            union { Acc value; u32 half[Halves]; } bits;
            for (int h = 0; h < Halves; h++) {
                u64* slot = slots + (u64)i * Halves + h;
                while (loaded[k][h] >> 32 == 0) loaded[k][h] = poll(slot);
                asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(slot) : "memory");
                bits.half[h] = (u32)loaded[k][h];
            }
            value = Op::join(value, bits.value);
        }
    }
    return value;
}

// Consumes the messages of all blocks, in `count` slots, and stores the result. Only the last block calls this
// function. If each lane has at most four messages, one warp is faster than the whole block, which needs a barrier.
template <u32 Warps>
__device__ void finish(void* out, u64* slots, u32 count, Acc* warps, u64 n, u32 epoch)
{
    u32 threads = count <= 128 ? 32 : blockDim.x;
    if (threadIdx.x >= threads) return;
    Acc value = warp(collect(slots, count, threads));
    if (threads > 32) {
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) value = few(warps, Warps);
    }
    if (threadIdx.x == 0) store(out, value, n, epoch);
}
