// Each warp gets one value by shuffles, and thread 0 adds these values.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    Element sum = i < n ? in[i] : 0;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid == 0) {
        for (unsigned int w = 1; w < blockDim.x / 32; w++) sum += shared[w];
        out[blockIdx.x] = sum;
    }
}
