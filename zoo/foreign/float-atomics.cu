// A warp's sum, then an atomic addition by its first lane (Luitjens, Faster Parallel Reductions on Kepler, 2014).
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    float sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    for (int s = warpSize / 2; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, sum);
}
