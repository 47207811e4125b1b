// A grid-stride loop over vectors of four elements, a shuffle tree, and one atomic per block.
struct alignas(4 * sizeof(Element) > 16 ? 16 : 4 * sizeof(Element)) Four { Element x, y, z, w; };

extern "C" __global__ void grid_stride(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element warps[32];
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;

    Element sum = 0;
    const Four* fours = reinterpret_cast<const Four*>(in);
    for (unsigned long long i = first; i < n / 4; i += stride) {
        Four four = fours[i];
        sum += (four.x + four.y) + (four.z + four.w);
    }
    unsigned long long rest = n / 4 * 4 + first;
    if (rest < n) sum += in[rest];

    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);
    }
    if (threadIdx.x == 0) atomicAdd(out, sum);
}
