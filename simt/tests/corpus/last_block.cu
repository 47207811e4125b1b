// A sum in one launch: the block that finishes last adds all partial sums.
__device__ unsigned int finished = 0;

__device__ Element block_sum(Element sum)
{
    __shared__ Element warps[32];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    __syncthreads();
    return sum;
}

extern "C" __global__ void last_block(const Element* in, Element* out, unsigned long long n, Element* partial)
{
    __shared__ bool last;
    Element sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        sum = 0;
        for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
        sum = block_sum(sum);
        if (threadIdx.x == 0) out[0] = sum;
    }
}
