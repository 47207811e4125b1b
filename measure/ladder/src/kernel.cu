// The limits for every measurement: a kernel that does nothing, and a kernel that only reads memory.
// Remaining cost: the reads. At 2^28, `reduce` reads the same data faster, for an unknown reason.
// Needs compute_70: the cache hint.
extern "C" __global__ void empty() {}

// Loads a vector that is read only once, with a hint that it need not stay in L1.
__device__ uint4 once(const uint4* at)
{
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(at));
    return word;
}

// Reads n vectors of 16 bytes, in one chunk per block or in claimed chunks, with eight vectors in flight per
// thread, as `reduce` does for most sizes. The loads cannot be optimized away. state[1] counts the claimed chunks.
extern "C" __global__ void __launch_bounds__(512, 2) read(
    const uint4* in, unsigned int* state, unsigned long long n, unsigned int part, unsigned int parts)
{
    const unsigned int Block = 512, Flight = 8;
    __shared__ unsigned int drawn[2];
    unsigned int seen = 0, turn = 0;
    for (unsigned int p = blockIdx.x; p < parts; turn ^= 1) {
        if (threadIdx.x == 0)
            drawn[turn] = parts > gridDim.x ? atomicInc(state + 1, parts - 1) + gridDim.x : parts;
        unsigned long long begin = (unsigned long long)p * part;
        unsigned int left = min((unsigned long long)part, n - begin);
        const uint4* at = in + begin + threadIdx.x;
        #pragma unroll 1
        for (; left >= Flight * Block; left -= Flight * Block, at += Flight * Block) {
            uint4 next[Flight];
            for (int k = 0; k < Flight; k++) next[k] = once(at + k * Block);
            for (int k = 0; k < Flight; k++) seen |= next[k].x | next[k].y | next[k].z | next[k].w;
        }
        uint4 next[Flight] = {};
        for (int k = 0; k < Flight; k++) if (k * Block + threadIdx.x < left) next[k] = once(at + k * Block);
        for (int k = 0; k < Flight; k++) seen |= next[k].x | next[k].y | next[k].z | next[k].w;
        __syncthreads();
        p = drawn[turn];
    }
    // The condition is never true for the measured inputs, but the compiler cannot know this.
    if (seen == 0x5a5a5a5a) *state = seen;
}
