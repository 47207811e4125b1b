// Each thread has four vectors in flight before it adds the first.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    const unsigned int Flight = 4;
    unsigned long long tile = (unsigned long long)Flight * blockDim.x;
    const Vector* vectors = (const Vector*)in;
    unsigned long long count = n / Width;
    Vector sums = {};
    for (unsigned long long first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
        Vector next[Flight] = {};
        for (int k = 0; k < Flight; k++) {
            unsigned long long at = first + k * blockDim.x + tid;
            if (at < count) next[k] = vectors[at];
        }
        for (int k = 0; k < Flight; k++)
            for (int e = 0; e < Width; e++) sums.data[e] += next[k].data[e];
    }
    Element sum = 0;
    for (int e = 0; e < Width; e++) sum += sums.data[e];
    if (blockIdx.x == gridDim.x - 1 && tid < n % Width) sum += in[count * Width + tid];

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
