// A grid of any size, and sixteen bytes per load: each block continues until no elements are left.
// Write the paragraph Load. Any block may add any elements, as long as the partial sums add up to the total.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;

    // Load: read vectors of sixteen bytes, then the remaining elements.
    Element sum = 0;
    // Your code goes here: at its end, sum holds the sum of this thread's elements.

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
