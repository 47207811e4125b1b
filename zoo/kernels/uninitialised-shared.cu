// A block adds 256 elements: each warp adds its own by shuffles, then the first warp adds all sums.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element rows[32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    Element sum = i < n ? in[i] : 0;

    // Reduce: each warp combines its values; then the first warp combines the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) rows[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = rows[tid];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
// Wrong: eight warps store eight values, but the first warp reads 32 values.
