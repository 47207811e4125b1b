// A grid-stride loop: two elements per thread in each iteration.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;
    unsigned long long stride = (unsigned long long)gridDim.x * (2 * blockDim.x);

    // Load: read two elements per thread in each iteration, or zero beyond the end.
    Element sum = 0;
    for (; i < n; i += stride) sum += in[i] + (i + blockDim.x < n ? in[i + blockDim.x] : 0);

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
