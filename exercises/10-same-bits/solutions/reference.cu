// The number of equal chunks depends on n alone, so the bits do not depend on the blocks that add them.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

// Returns the sum of the elements that a thread loads from chunk p; a chunk has `part` vectors.
__device__ Element share(const Element* in, unsigned long long n, unsigned long long part, unsigned int p)
{
    const Vector* vectors = (const Vector*)in;
    unsigned long long end = min((p + 1) * part, n / Width);
    Element sum = p == 0 && threadIdx.x < n % Width ? in[n - 1 - threadIdx.x] : 0;
    for (unsigned long long i = p * part + threadIdx.x; i < end; i += blockDim.x) {
        Vector vector = vectors[i];
        for (int e = 0; e < Width; e++) sum += vector.data[e];
    }
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
    // There are as many chunks as tiles, but at most one for each thread of the last block.
    unsigned long long tiles = (n / Width + blockDim.x - 1) / blockDim.x;
    unsigned int parts = max(1ull, min(tiles, 256ull));
    unsigned long long part = (n / Width + parts - 1) / parts;
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        Element sum = tree(share(in, n, part, p));
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
    Element sum = tree(threadIdx.x < parts ? partials[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
