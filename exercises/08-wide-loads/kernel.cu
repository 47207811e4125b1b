// A grid of any size, and sixteen bytes a load: each block goes on until nothing is left.
// Yours: the paragraph Load. Who adds what is free; the partial sums together are the sum.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;

    // Load: words of sixteen bytes, then what is left of a word.
    Element sum = 0;
    // Write it here: sum is what this thread has added.

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
