// v10 with Neumaier summation: the exact rounding error of each addition is added to a second sum.
// Remaining cost: four additions, a comparison and selections per element, instead of one addition.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 8, Block = 512;
struct Pair { Element sum, error; }; // The value is sum + error; error is the part lost to rounding.

// Adds an element to a pair.
__device__ void add(Pair& pair, Element x)
{
    Element sum = pair.sum + x;
    bool larger = (pair.sum < 0 ? -pair.sum : pair.sum) >= (x < 0 ? -x : x);
    pair.error += larger ? (pair.sum - sum) + x : (x - sum) + pair.sum;
    pair.sum = sum;
}

// Adds two pairs: Knuth's TwoSum gives the exact rounding error of a.sum + b.sum.
__device__ Pair join(Pair a, Pair b)
{
    Element sum = a.sum + b.sum, of_b = sum - a.sum, of_a = sum - of_b;
    return {sum, (a.sum - of_a) + (b.sum - of_b) + (a.error + b.error)};
}

// Returns a thread's sum over chunk c of `size` vectors; the last chunk has n % Width more elements.
__device__ Pair add(const Element* in, unsigned long long n, unsigned long long size, unsigned int c)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = c * size + tid, end = min((c + 1) * size, n / Width);

    // Load: read eight vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Pair sums[Width] = {};
    #pragma unroll 1
    for (; i < end; i += Loads * Block) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < end) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) add(sums[e], next[k].data[e]);
    }
    Pair sum = {end == n / Width && tid < n % Width ? in[n - 1 - tid] : 0, 0};
    for (int e = 0; e < Width; e++) sum = join(sum, sums[e]);
    return sum;
}

// Returns the pair of the lane that is s positions higher.
__device__ Pair down(Pair pair, int s)
{
    return {__shfl_down_sync(0xffffffff, pair.sum, s), __shfl_down_sync(0xffffffff, pair.error, s)};
}

// Reduce: each warp combines its pairs; then the first warp combines the warps' pairs in thread 0.
__device__ Pair tree(Pair sum)
{
    __shared__ Pair shared[Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All threads have read the previous tree's values.
    for (int s = 16; s > 0; s /= 2) sum = join(sum, down(sum, s));
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : Pair{};
        for (int s = 16; s > 0; s /= 2) sum = join(sum, down(sum, s));
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long size, unsigned int chunks,
    Element* partials, unsigned int* tickets, Element* errors)
{
    __shared__ bool last;
    // Store: write the pair of each chunk, then the total.
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        Pair sum = tree(add(in, n, size, c));
        if (threadIdx.x == 0 && chunks == 1) *out = sum.sum + sum.error;
        else if (threadIdx.x == 0) partials[c] = sum.sum, errors[c] = sum.error;
    }
    if (chunks == 1) return;
    if (threadIdx.x == 0) {
        __threadfence(); // This block's partial sum is visible before its ticket is taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last block resets the counter.
        __threadfence(); // The partial sums of all earlier tickets are visible from here on.
    }
    __syncthreads();
    if (!last) return;
    Pair sum = tree(threadIdx.x < chunks ? Pair{partials[threadIdx.x], errors[threadIdx.x]} : Pair{});
    if (threadIdx.x == 0) *out = sum.sum + sum.error;
}
