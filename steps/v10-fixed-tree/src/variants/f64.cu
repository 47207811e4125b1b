// v10 with wider accumulators, which add f32 elements as f64.
// Remaining cost: one conversion per element, and f64 additions, which are slow on many GPUs.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Loads = 8, Block = 512;
template <class T> struct Wide { typedef T Type; };
template <> struct Wide<float> { typedef double Type; };
typedef Wide<Element>::Type Sum;

// Returns a thread's sum over chunk c of `size` vectors; the last chunk has n % Width more elements.
__device__ Sum add(const Element* in, unsigned long long n, unsigned long long size, unsigned int c)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = c * size + tid, end = min((c + 1) * size, n / Width);

    // Load: read eight vectors per thread and iteration (zero past the end), then n % Width elements.
    const Vector* vectors = (const Vector*)in;
    Sum sums[Width] = {};
    #pragma unroll 1
    for (; i < end; i += Loads * Block) {
        Vector next[Loads] = {};
        for (int k = 0; k < Loads; k++) if (i + k * Block < end) next[k] = vectors[i + k * Block];
        for (int k = 0; k < Loads; k++) for (int e = 0; e < Width; e++) sums[e] += next[k].data[e];
    }
    Sum sum = end == n / Width && tid < n % Width ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Width; e++) sum += sums[e];
    return sum;
}

// Reduce: each warp combines its values; then the first warp combines the warps' sums in thread 0.
__device__ Sum tree(Sum sum)
{
    __shared__ Sum shared[Block / 32];
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

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long size, unsigned int chunks,
    Element* partials, unsigned int* tickets, Element* errors)
{
    __shared__ bool last;
    // Store: write the sum of each chunk, then the total.
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) {
        Sum sum = tree(add(in, n, size, c));
        if (threadIdx.x == 0) (chunks == 1 ? out : partials)[c] = sum;
        if (threadIdx.x == 0 && chunks > 1) errors[c] = sum - (Element)sum;
    }
    if (chunks == 1) return;
    if (threadIdx.x == 0) {
        __threadfence(); // This block's partial sum is visible before its ticket is taken.
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // The last block resets the counter.
        __threadfence(); // The partial sums of all earlier tickets are visible from here on.
    }
    __syncthreads();
    if (!last) return;
    Sum sum = tree(threadIdx.x < chunks ? (Sum)partials[threadIdx.x] + errors[threadIdx.x] : 0);
    if (threadIdx.x == 0) *out = sum;
}
