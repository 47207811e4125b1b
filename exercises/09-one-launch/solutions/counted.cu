// The block that takes the last ticket resets the counter.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

// Returns the sum of the elements that a thread loads.
__device__ Element share(const Element* in, unsigned long long n)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    const Vector* vectors = (const Vector*)in;
    Element sum = i < n % Width ? in[n - 1 - i] : 0;
    for (; i < n / Width; i += stride) {
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
    __shared__ unsigned int ticket;
    Element sum = tree(share(in, n));
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        ticket = atomicAdd(tickets, 1);
    }
    __syncthreads();
    if (ticket + 1 < gridDim.x) return;
    if (threadIdx.x == 0) {
        __threadfence();
        sum = 0;
        for (unsigned int b = 0; b < gridDim.x; b++) sum += partials[b];
        *out = sum;
        *tickets = 0;
    }
}
