// Chunks are interleaved: chunk p has the tiles p, p + Parts, ..., each of blockDim.x elements.
const unsigned int Parts = 8;

// Returns the sum of the elements that a thread loads from chunk p.
__device__ Element share(const Element* in, unsigned long long n, unsigned int p)
{
    Element sum = 0;
    unsigned long long first = (unsigned long long)p * blockDim.x + threadIdx.x;
    for (unsigned long long i = first; i < n; i += (unsigned long long)Parts * blockDim.x) sum += in[i];
    return sum;
}

// Returns the sum over a block's threads, in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All threads have read the previous tree's values.
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
    for (unsigned int p = blockIdx.x; p < Parts; p += gridDim.x) {
        Element sum = tree(share(in, n, p));
        if (threadIdx.x == 0) partials[p] = sum;
    }
    if (threadIdx.x == 0) {
        __threadfence(); // A block that sees this ticket taken also sees this block's stores.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last block resets the counter to 0.
        __threadfence(); // From here on, stores before earlier tickets are visible.
    }
    __syncthreads();
    if (!last) return;
    // Store: write the sum of all chunks.
    Element sum = tree(threadIdx.x < Parts ? partials[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
