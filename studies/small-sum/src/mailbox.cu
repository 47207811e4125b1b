// A mailbox: a partial sum and a flag at once; the last block waits for all, and takes the flags down.
// Still costs: a block that waits: others must be able to run beside it.
// Needs compute_70: relaxed stores and loads.
#include "tile.cuh"

// 32 bits of the sum and a flag in one store: nobody needs a fence, for what the flag announces comes
// with it.
template <unsigned int Words>
__device__ void mailbox(const Element* in, Element* out, unsigned long long n, unsigned long long* box)
{
    const unsigned int halves = sizeof(Element) / 4;
    union Parts { Element value; unsigned int half[halves]; } parts;
    parts.value = block_sum(warp_sum<Words>(in, n));
    if (threadIdx.x == 0)
        for (int h = 0; h < halves; h++)
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(box + blockIdx.x * halves + h),
                         "l"(1ull << 32 | parts.half[h]) : "memory");
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
    Element sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += 32) {
        for (int h = 0; h < halves; h++) {
            unsigned long long *mail = box + (unsigned long long)i * halves + h, word;
            do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(mail) : "memory");
            while (word >> 32 == 0);
            parts.half[h] = word;
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                         :: "l"(mail), "l"(word & 0xffffffff) : "memory");
        }
        sum += parts.value;
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    // Store: the sum.
    if (threadIdx.x == 0) *out = sum;
}

// One entry point for each number of words in flight.
#define ENTRY(Words) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Words( \
        const Element* in, Element* out, unsigned long long n, \
        unsigned long long* box) \
    { mailbox<Words>(in, out, n, box); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
