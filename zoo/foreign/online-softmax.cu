// Softmax with one pass for the maximum and the sum (Milakov and Gimelshein, 2018).
__device__ void join(float& most, float& sum, float other, float others)
{
    float both = fmaxf(most, other);
    sum = sum * expf(most - both) + others * expf(other - both);
    most = both;
}
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    __shared__ float mosts[4], sums[4];
    float most = -1e30f, sum = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 128) join(most, sum, in[i], 1);
    for (int s = 16; s > 0; s /= 2)
        join(most, sum, __shfl_xor_sync(0xffffffff, most, s), __shfl_xor_sync(0xffffffff, sum, s));
    if (threadIdx.x % 32 == 0) mosts[threadIdx.x / 32] = most, sums[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int w = 0; w < 4; w++) if (w != threadIdx.x / 32) join(most, sum, mosts[w], sums[w]);
    for (unsigned int i = threadIdx.x; i < n; i += 128) out[i] = expf(in[i] - most) / sum;
}
