// The bounds of every measurement: a kernel that does nothing, and one that only reads.
// Still costs: nothing is added, and the reading is the simplest there is, not the fastest.
// Needs compute_70: the hint.
extern "C" __global__ void empty() {}

// A word that is read once: it need not stay in the L1.
__device__ uint4 once(const uint4* at)
{
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(at));
    return word;
}

// Reads n words of 16 bytes, part by part, eight words in flight a thread, and keeps them from
// being optimised away. Blocks draw their parts, as those of `reduce` do; state[1] counts the draws.
extern "C" __global__ void __launch_bounds__(512, 2) read(
    const uint4* in, unsigned int* state, unsigned long long n, unsigned int part,
    unsigned int parts)
{
    const unsigned int Block = 512, Flight = 8;
    __shared__ unsigned int drawn[2];
    unsigned int seen = 0, turn = 0;
    for (unsigned int p = blockIdx.x; p < parts; turn ^= 1) {
        if (threadIdx.x == 0) drawn[turn] = atomicInc(state + 1, parts - 1) + gridDim.x;
        unsigned long long i = (unsigned long long)p * part + threadIdx.x;
        unsigned long long end = min((p + 1ull) * part, n);
        #pragma unroll 1
        for (; i < end; i += Flight * Block) {
            uint4 next[Flight] = {};
            for (int k = 0; k < Flight; k++) if (i + k * Block < end) next[k] = in[i + k * Block];
            for (int k = 0; k < Flight; k++) seen |= next[k].x | next[k].y | next[k].z | next[k].w;
        }
        __syncthreads();
        p = drawn[turn];
    }
    // Never true for the inputs that are measured, which the compiler cannot know.
    if (seen == 0x5a5a5a5a) *state = seen;
}

// Reads n vectors of 16 bytes, four in flight a thread, and keeps them from being optimised away.
extern "C" __global__ void strided(const uint4* in, unsigned int* out, unsigned long long n)
{
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int seen = 0;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
        seen |= a.x | a.y | a.z | a.w | b.x | b.y | b.z | b.w;
        seen |= c.x | c.y | c.z | c.w | d.x | d.y | d.z | d.w;
    }
    for (; i < n; i += stride) {
        uint4 a = in[i];
        seen |= a.x | a.y | a.z | a.w;
    }
    // Never true for the inputs that are measured, which the compiler cannot know.
    if (seen == 0x5a5a5a5a) *out = seen;
}

// Reads n words of 16 bytes, part by part, eight words in flight a thread, and keeps them from
// being optimised away. Blocks draw their parts, as those of `reduce` do; state[1] counts the draws.
extern "C" __global__ void __launch_bounds__(512, 2) read_once(
    const uint4* in, unsigned int* state, unsigned long long n, unsigned int part,
    unsigned int parts)
{
    const unsigned int Block = 512, Flight = 8;
    __shared__ unsigned int drawn[2];
    unsigned int seen = 0, turn = 0;
    for (unsigned int p = blockIdx.x; p < parts; turn ^= 1) {
        if (threadIdx.x == 0) drawn[turn] = atomicInc(state + 1, parts - 1) + gridDim.x;
        unsigned long long i = (unsigned long long)p * part + threadIdx.x;
        unsigned long long end = min((p + 1ull) * part, n);
        #pragma unroll 1
        for (; i < end; i += Flight * Block) {
            uint4 next[Flight] = {};
            for (int k = 0; k < Flight; k++) if (i + k * Block < end) next[k] = once(in + i + k * Block);
            for (int k = 0; k < Flight; k++) seen |= next[k].x | next[k].y | next[k].z | next[k].w;
        }
        __syncthreads();
        p = drawn[turn];
    }
    // Never true for the inputs that are measured, which the compiler cannot know.
    if (seen == 0x5a5a5a5a) *state = seen;
}

// Reads n vectors of 16 bytes, four in flight a thread, and keeps them from being optimised away.
extern "C" __global__ void strided_once(const uint4* in, unsigned int* out, unsigned long long n)
{
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int seen = 0;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 a = once(in + i), b = once(in + i + stride), c = once(in + i + 2 * stride), d = once(in + i + 3 * stride);
        seen |= a.x | a.y | a.z | a.w | b.x | b.y | b.z | b.w;
        seen |= c.x | c.y | c.z | c.w | d.x | d.y | d.z | d.w;
    }
    for (; i < n; i += stride) {
        uint4 a = once(in + i);
        seen |= a.x | a.y | a.z | a.w;
    }
    // Never true for the inputs that are measured, which the compiler cannot know.
    if (seen == 0x5a5a5a5a) *out = seen;
}
