// Eight words of a thread are in flight; the first warp adds what the warps have.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Block = 512;

// The sum of a block's threads, in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    const unsigned int Flight = 8;
    unsigned long long count = n / Lanes, i = threadIdx.x;
    Word sums = {};
    for (; i + (Flight - 1) * Block < count; i += Flight * Block) {
        Word next[Flight];
        for (int k = 0; k < Flight; k++) next[k] = ((const Word*)in)[i + k * Block];
        for (int k = 0; k < Flight; k++)
            for (int e = 0; e < Lanes; e++) sums.at[e] += next[k].at[e];
    }
    for (; i < count; i += Block) {
        Word next = ((const Word*)in)[i];
        for (int e = 0; e < Lanes; e++) sums.at[e] += next.at[e];
    }
    Element sum = threadIdx.x < n % Lanes ? in[count * Lanes + threadIdx.x] : 0;
    for (int e = 0; e < Lanes; e++) sum += sums.at[e];
    sum = tree(sum);
    if (threadIdx.x == 0) *out = sum;
}
