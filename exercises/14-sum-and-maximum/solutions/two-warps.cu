// After the barrier, one warp adds the sums while another finds the maximum.
// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

extern "C" __global__ void reduce(const Element* in, Element* sums, Element* maxima,
                                  unsigned long long n)
{
    __shared__ Element sums_of[32], maxima_of[32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    Element sum = 0, most = lowest();
    if (i < n) { sum = in[i]; most = sum; }
    if (i + blockDim.x < n) { Element b = in[i + blockDim.x]; sum += b; most = max(most, b); }
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, s);
        most = max(most, __shfl_down_sync(0xffffffff, most, s));
    }
    if (tid % 32 == 0) { sums_of[tid / 32] = sum; maxima_of[tid / 32] = most; }
    __syncthreads();
    unsigned int lane = tid % 32, warps = blockDim.x / 32;
    if (tid / 32 == 0) {
        sum = lane < warps ? sums_of[lane] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
    if (tid / 32 == 1) {
        most = lane < warps ? maxima_of[lane] : lowest();
        for (int s = 16; s > 0; s /= 2) most = max(most, __shfl_down_sync(0xffffffff, most, s));
        if (lane == 0) maxima[blockIdx.x] = most;
    }
}
