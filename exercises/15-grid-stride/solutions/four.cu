// Each thread has four sums, so that its next four loads need not wait for an addition.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;

    // Load: read four elements per thread in each iteration, then the remaining ones.
    Element sums[4] = {};
    for (; i + 3 * stride < n; i += 4 * stride)
        for (int k = 0; k < 4; k++) sums[k] += in[i + k * stride];
    for (; i < n; i += stride) sums[0] += in[i];
    Element sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);

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
