// One launch: the block that finishes last adds the partial sums of all.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

// What a thread adds of the elements.
__device__ Element share(const Element* in, unsigned long long n)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    const Word* words = (const Word*)in;
    Element sum = i < n % Lanes ? in[n - 1 - i] : 0;
    for (; i < n / Lanes; i += stride) {
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
    Element sum = tree(share(in, n));
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence(); // What this block wrote is seen by whoever sees its ticket taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last one sets them to 0 again.
        __threadfence(); // What others wrote before they took theirs is seen from here on.
    }
    __syncthreads();
    if (!last) return;
    // Store: the sum of all blocks.
    sum = tree(threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
