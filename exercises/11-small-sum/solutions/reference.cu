// One block adds everything: wide loads, shuffles, one barrier.
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
    const Word* words = (const Word*)in;
    Element sum = threadIdx.x < n % Lanes ? in[n - 1 - threadIdx.x] : 0;
    for (unsigned long long i = threadIdx.x; i < n / Lanes; i += Block) {
        Word word = words[i];
        for (int e = 0; e < Lanes; e++) sum += word.at[e];
    }
    sum = tree(sum);
    if (threadIdx.x == 0) *out = sum;
}
