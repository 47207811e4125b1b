// The last block keeps its own sum; its thread 0 consumes the other blocks' sums one by one.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Words = sizeof(Element) / 4;
union Message { Element value; unsigned int word[Words]; };

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

// Publishes a value: each store writes 32 bits and a flag, which shows that the bits have arrived.
__device__ void publish(unsigned long long* slot, Element value)
{
    Message message = {value};
    for (int w = 0; w < Words; w++) atomicExch(slot + w, 1ull << 32 | message.word[w]);
}

// Polls until a value has arrived, returns it, and leaves its slot at 0.
__device__ Element consume(unsigned long long* slot)
{
    Message message;
    for (int w = 0; w < Words; w++) {
        unsigned long long seen = 0;
        while (seen == 0) seen = atomicExch(slot + w, 0);
        message.word[w] = (unsigned int)seen;
    }
    return message.value;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n,
                                  unsigned long long* slots)
{
    Element sum = tree(share(in, n));
    if (threadIdx.x > 0) return;
    if (blockIdx.x + 1 < gridDim.x) {
        publish(slots + blockIdx.x * Words, sum);
        return;
    }
    for (unsigned int b = 0; b + 1 < gridDim.x; b++) sum += consume(slots + b * Words);
    *out = sum;
}
