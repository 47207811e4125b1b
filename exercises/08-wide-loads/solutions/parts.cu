// Each block has its own chunk of consecutive elements.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long count = n / Width, part = (count + gridDim.x - 1) / gridDim.x;
    unsigned long long first = blockIdx.x * part, end = first + part;
    if (end > count) end = count;
    Element sum = 0;
    for (unsigned long long i = first + tid; i < end; i += blockDim.x) {
        Vector vector = ((const Vector*)in)[i];
        for (int e = 0; e < Width; e++) sum += vector.data[e];
    }
    if (blockIdx.x == 0)
        for (unsigned long long i = count * Width + tid; i < n; i += blockDim.x) sum += in[i];

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
