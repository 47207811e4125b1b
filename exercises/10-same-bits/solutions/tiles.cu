// Each chunk has 2048 elements, or more if there would otherwise be too many chunks.
// Returns the sum of the elements that a thread loads from chunk p; a chunk has `part` elements.
__device__ Element share(const Element* in, unsigned long long n, unsigned long long part, unsigned int p)
{
    unsigned long long first = p * part, end = min(first + part, n);
    Element sum = 0;
    for (unsigned long long i = first + threadIdx.x; i < end; i += blockDim.x) sum += in[i];
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
    unsigned long long part = max((n + 1023) / 1024, 2048ull);
    unsigned int parts = (n + part - 1) / part;
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        Element sum = tree(share(in, n, part, p));
        if (threadIdx.x == 0) partials[p] = sum;
    }
    if (threadIdx.x == 0) {
        __threadfence();
        ticket = atomicAdd(tickets, 1);
        __threadfence();
        if (ticket + 1 == gridDim.x) *tickets = 0;
    }
    __syncthreads();
    if (ticket + 1 < gridDim.x) return;
    Element sum = 0;
    for (unsigned int p = threadIdx.x; p < parts; p += blockDim.x) sum += partials[p];
    sum = tree(sum);
    if (threadIdx.x == 0) *out = sum;
}
