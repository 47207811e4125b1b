// A grid-stride loop loads sixteen bytes at once.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;

    // Load: read one vector per thread in each iteration, then the remaining elements.
    const Vector* vectors = (const Vector*)in;
    Element sum = i < n % Width ? in[n - 1 - i] : 0;
    for (; i < n / Width; i += stride) {
        Vector vector = vectors[i];
        for (int e = 0; e < Width; e++) sum += vector.data[e];
    }

    // Reduce: each warp combines its values; then the first warp combines the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < blockDim.x / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = sum;
    }
}
