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

// A thread's share of `count` values, in their order: it looks at four boxes at once until all have come,
// and leaves them empty. A box that is not there is its first once more.
__device__ Acc collect(u64* box, u32 count, u32 threads)
{
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += 4 * threads) {
        u64* mail[4];
        u64 words[4][Halves];
        for (int k = 0; k < 4; k++)
            mail[k] = box + (u64)(first + k * threads < count ? first + k * threads : first) * Halves;
        bool all = false;
        #pragma unroll 1
        while (!all) {
            all = true;
            for (int k = 0; k < 4; k++)
                for (int h = 0; h < Halves; h++) {
                    words[k][h] = peek(mail[k] + h);
                    all &= words[k][h] >> 32 != 0;
                }
        }
        for (int k = 0; k < 4; k++) {
            union { Acc value; u32 half[Halves]; } parts;
            for (int h = 0; h < Halves; h++) {
                asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(mail[k] + h) : "memory");
                parts.half[h] = (u32)words[k][h];
            }
            if (first + k * threads < count) value = Op::join(value, parts.value);
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
