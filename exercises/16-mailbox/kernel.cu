// One launch without fences: one store writes a partial sum and its flag, and the last block polls for them.
// Write publish, consume and the end of the kernel. There are at most 256 blocks; slots is zero only before the first launch.
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

// Publishes a value with `Words` 64-bit stores, each with 32 bits of the value and, above them, a flag.
__device__ void publish(unsigned long long* slot, Element value)
{
    // Your code goes here.
}

// Polls until the flags of a value are set, clears them, and returns the value.
__device__ Element consume(unsigned long long* slot)
{
    // Your code goes here.
    return 0;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n,
                                  unsigned long long* slots)
{
    Element sum = tree(share(in, n));
    // Your code goes here: thread 0 has the block's sum, and *out must get the sum of all blocks.
}
