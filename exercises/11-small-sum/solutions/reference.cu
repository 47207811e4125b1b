// One block adds everything with vectorized loads, shuffles and one barrier.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Block = 512;

// Returns the sum over a block's threads, in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    const Vector* vectors = (const Vector*)in;
    Element sum = threadIdx.x < n % Width ? in[n - 1 - threadIdx.x] : 0;
    for (unsigned long long i = threadIdx.x; i < n / Width; i += Block) {
        Vector vector = vectors[i];
        for (int e = 0; e < Width; e++) sum += vector.data[e];
    }
    sum = tree(sum);
    if (threadIdx.x == 0) *out = sum;
}
