// Mail: values that blocks hand to one of them through global memory. A box is zero when it is empty.

// A value and a flag in one store, 32 bits of each: nobody needs a fence.
__device__ void post(u64* box, Acc value)
{
    union { Acc value; u32 half[Halves]; } parts;
    parts.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                     :: "l"(box + h), "l"(1ull << 32 | parts.half[h]) : "memory");
}

__device__ u64 peek(const u64* box)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(box) : "memory");
    return word;
}

// A thread's share of `count` values, in their order: it waits for what has not come, and leaves the
// boxes empty.
__device__ Acc collect(u64* box, u32 count, u32 threads)
{
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += 4 * threads) {
        u64 words[4][Halves];
        for (int k = 0; k < 4; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * threads;
                words[k][h] = i < count ? peek(box + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < 4; k++) {
            u32 i = first + k * threads;
            if (i >= count) break;
            union { Acc value; u32 half[Halves]; } parts;
            for (int h = 0; h < Halves; h++) {
                u64* mail = box + (u64)i * Halves + h;
                while (words[k][h] >> 32 == 0) words[k][h] = peek(mail);
                asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(mail) : "memory");
                parts.half[h] = (u32)words[k][h];
            }
            value = Op::join(value, parts.value);
        }
    }
    return value;
}

// The last block waits for the mail of all, in `count` boxes. One warp has it done before a block would
// have met at a barrier, if each lane has four.
template <u32 Warps>
__device__ void finish(void* out, u64* box, u32 count, Acc* warps, u32 epoch)
{
    u32 threads = count <= 128 ? 32 : blockDim.x;
    if (threadIdx.x >= threads) return;
    Acc value = warp(collect(box, count, threads));
    if (threads > 32) {
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) value = few(warps, Warps);
    }
    if (threadIdx.x == 0) store(out, value, epoch);
}
