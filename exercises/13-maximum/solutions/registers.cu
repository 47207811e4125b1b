// The running maximum stays in a register.
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

    Element most = i < n ? in[i] : lowest();
    if (most != most) most = lowest();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid >= s && tid < 2 * s) shared[tid] = most;
        __syncthreads();
        if (tid < s && most < shared[tid + s]) most = shared[tid + s];
    }
    if (tid == 0) out[blockIdx.x] = most;
}
