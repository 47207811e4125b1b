// The sum and the maximum go through the same tree, side by side, and share its barrier.
// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

extern "C" __global__ void reduce(const Element* in, Element* sums, Element* maxima,
                                  unsigned long long n)
{
    __shared__ Element shared[2][32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    // Load: read two elements per thread, each of them once.
    Element a = i < n ? in[i] : 0, b = i + blockDim.x < n ? in[i + blockDim.x] : 0;
    Element sum = a + b, most = i < n ? a : lowest();
    if (i + blockDim.x < n && b > most) most = b;

    // Reduce: each warp combines its pairs; then the first warp combines the warps' pairs.
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, s);
        most = max(most, __shfl_down_sync(0xffffffff, most, s));
    }
    if (tid % 32 == 0) {
        shared[0][tid / 32] = sum;
        shared[1][tid / 32] = most;
    }
    __syncthreads();
    if (tid < 32) {
        sum = tid < blockDim.x / 32 ? shared[0][tid] : 0;
        most = tid < blockDim.x / 32 ? shared[1][tid] : lowest();
        for (int s = 16; s > 0; s /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, s);
            most = max(most, __shfl_down_sync(0xffffffff, most, s));
        }
    }

    // Store: write the block's pair.
    if (tid == 0) {
        sums[blockIdx.x] = sum;
        maxima[blockIdx.x] = most;
    }
}
