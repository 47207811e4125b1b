// Histogram with shared atomics (Sakharnykh, NVIDIA's developer blog, 2015): each block first uses its own bins, then the global bins.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int bins[32];
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] + 11], 1);
    __syncthreads();
    if (threadIdx.x < 32 && bins[threadIdx.x]) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
