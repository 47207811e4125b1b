// The bounds of every measurement: a kernel that does nothing, and one that only reads.
// Still costs: nothing is added, and the reading is the simplest there is, not the fastest.
extern "C" __global__ void empty() {}

// Reads n vectors of 16 bytes, four in flight a thread, and keeps them from being optimised away.
extern "C" __global__ void read(const uint4* in, unsigned int* out, unsigned long long n)
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
