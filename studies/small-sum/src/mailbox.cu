// A message is a partial sum and its flag in one store; the last block polls and clears the flags.
// Remaining cost: a block that polls; while it polls, all other blocks must be able to run.
// Needs compute_70: relaxed stores and loads.
#include "tile.cuh"

// Each store writes 32 bits of the sum and a flag, so no fence is needed.
template <unsigned int Loads>
__device__ void mailbox(const Element* in, Element* out, unsigned long long n,
                        unsigned long long* slots)
{
    const unsigned int words = sizeof(Element) / 4;
    union { Element value; unsigned int word[words]; } message;
    message.value = block_sum(warp_sum<Loads>(in, n));
    if (threadIdx.x == 0)
        for (int w = 0; w < words; w++)
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(slots + blockIdx.x * words + w),
                         "l"(1ull << 32 | message.word[w]) : "memory");
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x >= 32) return;
    Element sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += 32) {
        for (int w = 0; w < words; w++) {
            unsigned long long *slot = slots + (unsigned long long)i * words + w, seen;
            do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(slot) : "memory");
            while (seen >> 32 == 0);
            message.word[w] = seen;
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                         :: "l"(slot), "l"(seen & 0xffffffff) : "memory");
        }
        sum += message.value;
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    // Store: write the sum.
    if (threadIdx.x == 0) *out = sum;
}

// There is one entry point for each number of loads in flight.
#define ENTRY(Loads) \
    extern "C" __global__ void __launch_bounds__(Threads) reduce_##Loads( \
        const Element* in, Element* out, unsigned long long n, \
        unsigned long long* slots) \
    { mailbox<Loads>(in, out, n, slots); }
ENTRY(1) ENTRY(2) ENTRY(4) ENTRY(8)
