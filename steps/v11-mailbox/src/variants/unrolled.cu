// v11 with two iterations at a time: the loads of one overlap with the additions of the other.
// Remaining cost: registers for every byte in flight.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 8, Block = 512, Words = sizeof(Element) / 4;
union Message { Element value; unsigned int word[Words]; };

// Returns a thread's sum over chunk c of `size` vectors; the last chunk has n % Width more elements.
__device__ Element add(const Element* in, unsigned long long n, unsigned long long size, unsigned int c)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = c * size + tid, end = min((c + 1) * size, n / Width);

    // Load: read eight vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Vector sums = {};
    #pragma unroll 2
    for (; i < end; i += Loads * Block) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < end) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) sums.data[e] += next[k].data[e];
    }
    Element sum = end == n / Width && tid < n % Width ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Width; e++) sum += sums.data[e];
    return sum;
}

// Reduce: each warp combines its values; then the first warp combines the warps' sums in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All threads have read the previous tree's values.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
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

// Polls until the flags of a value are set, clears them, and returns the value.
__device__ Element consume(unsigned long long* slot)
{
    Message message;
    for (int w = 0; w < Words; w++) {
        unsigned long long seen;
        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);
        message.word[w] = (unsigned int)seen;
    }
    return message.value;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long size, unsigned int chunks,
    unsigned long long* slots)
{
    Element sum = 0;
    // Store: write the sum of each chunk, then the total.
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        sum = tree(add(in, n, size, c));
        if (threadIdx.x == 0 && chunks > 1) publish(slots + c * Words, sum);
    }
    if (blockIdx.x < gridDim.x - 1) return;
    if (chunks > 1) sum = tree(threadIdx.x < chunks ? consume(slots + threadIdx.x * Words) : 0);
    if (threadIdx.x == 0) *out = sum;
}
