// Even parts, as many as the length alone decides: whichever block adds them, the bits are the same.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

// What a thread adds of part p, of so many words.
__device__ Element share(const Element* in, unsigned long long n, unsigned long long part, unsigned int p)
{
    const Word* words = (const Word*)in;
    unsigned long long end = min((p + 1) * part, n / Lanes);
    Element sum = p == 0 && threadIdx.x < n % Lanes ? in[n - 1 - threadIdx.x] : 0;
    for (unsigned long long i = p * part + threadIdx.x; i < end; i += blockDim.x) {
        Word word = words[i];
        for (int e = 0; e < Lanes; e++) sum += word.at[e];
    }
    return sum;
}

// The sum of a block's threads, in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // The last values that were put there have been read.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < blockDim.x / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n,
                                  Element* partials, unsigned int* tickets)
{
    __shared__ bool last;
    // As many parts as there are tiles, up to one for each thread of the last block.
    unsigned long long tiles = (n / Lanes + blockDim.x - 1) / blockDim.x;
    unsigned int parts = max(1ull, min(tiles, 256ull));
    unsigned long long part = (n / Lanes + parts - 1) / parts;
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        Element sum = tree(share(in, n, part, p));
        if (threadIdx.x == 0) partials[p] = sum;
    }
    if (threadIdx.x == 0) {
        __threadfence(); // What this block wrote is seen by whoever sees its ticket taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last one sets them to 0 again.
        __threadfence(); // What others wrote before they took theirs is seen from here on.
    }
    __syncthreads();
    if (!last) return;
    // Store: the sum of all parts.
    Element sum = tree(threadIdx.x < parts ? partials[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
