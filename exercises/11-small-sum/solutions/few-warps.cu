// Lanes add vectors, each warp stores one value, and thread 0 adds the sixteen values.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[16];
    unsigned int tid = threadIdx.x, left = n % Width;
    unsigned long long i = tid, count = n / Width;
    Element sum = tid < left ? in[n - left + tid] : 0;
    for (; i < count; i += 512) {
        Vector vector = ((const Vector*)in)[i];
        for (int e = 0; e < Width; e++) sum += vector.data[e];
    }
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid == 0) {
        for (int w = 1; w < 16; w++) sum += shared[w];
        *out = sum;
    }
}
