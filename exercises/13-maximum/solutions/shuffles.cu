// Lanes exchange their maxima by shuffles; max() ignores NaN.
// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    Element most = max(lowest(), i < n ? in[i] : lowest());
    for (int s = 16; s > 0; s /= 2) most = max(most, __shfl_down_sync(0xffffffff, most, s));
    if (tid % 32 == 0) shared[tid / 32] = most;
    __syncthreads();
    if (tid < 32) {
        most = tid < blockDim.x / 32 ? shared[tid] : lowest();
        for (int s = 16; s > 0; s /= 2) most = max(most, __shfl_down_sync(0xffffffff, most, s));
    }
    if (tid == 0) out[blockIdx.x] = most;
}
