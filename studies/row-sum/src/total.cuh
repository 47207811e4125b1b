// For the harness: adds all rows' sums to the total of a run; the verdict checks each row's sum.
extern "C" __global__ void __launch_bounds__(1024) total(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element warps[32];
    unsigned int tid = threadIdx.x;
    Element sum = 0;
    for (unsigned long long i = tid; i < n; i += 1024) sum += in[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) warps[tid / 32] = sum;
    __syncthreads();
    if (tid >= 32) return;
    sum = warps[tid];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid == 0) *out = sum;
}
