// All lanes add words, each warp one value, and thread 0 the sixteen.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[16];
    unsigned int tid = threadIdx.x, left = n % Lanes;
    unsigned long long i = tid, count = n / Lanes;
    Element sum = tid < left ? in[n - left + tid] : 0;
    for (; i < count; i += 512) {
        Word word = ((const Word*)in)[i];
        for (int e = 0; e < Lanes; e++) sum += word.at[e];
    }
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid == 0) {
        for (int w = 1; w < 16; w++) sum += shared[w];
        *out = sum;
    }
}
