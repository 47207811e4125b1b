// Sixteen-bit floats, added in single precision: f16 and bf16, two per load.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ float block_sum(float sum)
{
    __shared__ float warps[32];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
    return sum;
}

extern "C" __global__ void sum_f16(const __half2* in, float* out, unsigned long long n)
{
    float sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        float2 two = __half22float2(in[i]);
        sum += two.x + two.y;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void sum_bf16(const __nv_bfloat162* in, float* out, unsigned long long n)
{
    float sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        float2 two = __bfloat1622float2(in[i]);
        sum += two.x + two.y;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Rounds to sixteen bits and adds in that format.
extern "C" __global__ void to_f16(const float* in, __half* out, unsigned long long n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd(__float2half(in[i]), __float2half(1.0f));
}
