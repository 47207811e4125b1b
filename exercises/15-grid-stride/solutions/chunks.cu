// Each block has its own chunk of consecutive elements; within it, the stride is the block size.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long chunk = (n + gridDim.x - 1) / gridDim.x;
    unsigned long long first = blockIdx.x * chunk, end = min(first + chunk, n);

    // Load: read one element per thread in each iteration.
    Element sum = 0;
    for (unsigned long long i = first + tid; i < end; i += blockDim.x) sum += in[i];

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
