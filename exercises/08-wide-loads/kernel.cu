// A grid of any size, and sixteen bytes per load: each block continues until nothing is left.
// Yours: the paragraph Load. Any block may add any elements; the partial sums add up to the sum.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;

    // Load: vectors of sixteen bytes, then the remaining elements.
    Element sum = 0;
    // Write it here: sum holds the elements that this thread has added.

    // Reduce: each warp to one value, then those values in the first warp.
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
