// Each thread has eight vectors in flight; the first warp adds the sums of the warps.
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
    const unsigned int Flight = 8;
    unsigned long long count = n / Width, i = threadIdx.x;
    Vector sums = {};
    for (; i + (Flight - 1) * Block < count; i += Flight * Block) {
        Vector next[Flight];
        for (int k = 0; k < Flight; k++) next[k] = ((const Vector*)in)[i + k * Block];
        for (int k = 0; k < Flight; k++)
            for (int e = 0; e < Width; e++) sums.data[e] += next[k].data[e];
    }
    for (; i < count; i += Block) {
        Vector next = ((const Vector*)in)[i];
        for (int e = 0; e < Width; e++) sums.data[e] += next.data[e];
    }
    Element sum = threadIdx.x < n % Width ? in[count * Width + threadIdx.x] : 0;
    for (int e = 0; e < Width; e++) sum += sums.data[e];
    sum = tree(sum);
    if (threadIdx.x == 0) *out = sum;
}
