// Sixteen bytes a load, and a loop that strides over the grid.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;

    // Load: a word a thread in every turn, then what is left of a word.
    const Word* words = (const Word*)in;
    Element sum = i < n % Lanes ? in[n - 1 - i] : 0;
    for (; i < n / Lanes; i += stride) {
        Word word = words[i];
        for (int e = 0; e < Lanes; e++) sum += word.at[e];
    }

    // Reduce: each warp to one value, then the first warp those values.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < blockDim.x / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }

    // Store: the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = sum;
    }
}
