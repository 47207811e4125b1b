// Dot product (Sanders and Kandrot, CUDA by Example, 2010) of the input and its reverse: a grid-stride loop, then a tree.
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    __shared__ float cache[128];
    float sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i] * in[n - 1 - i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s != 0; s /= 2) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, cache[0]);
}
