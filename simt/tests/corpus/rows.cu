// The sum of every row: one warp per row, four accumulators per lane.
extern "C" __global__ void rows(const Element* in, Element* out, unsigned int height, unsigned int width)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= height) return;
    const Element* from = in + (unsigned long long)row * width;
    Element sum[4] = { 0, 0, 0, 0 };
    unsigned int i = lane;
    for (; i + 96 < width; i += 128) {
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] += from[i + 32 * k];
    }
    for (; i < width; i += 32) sum[0] += from[i];
    Element total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (int s = 16; s > 0; s /= 2) total += __shfl_down_sync(0xffffffff, total, s);
    if (lane == 0) out[row] = total;
}

// The sum of every row, one block per row, followed by its mean.
extern "C" __global__ void row_means(const Element* in, Element* out, unsigned int height, unsigned int width)
{
    __shared__ Element warps[32];
    const Element* from = in + (unsigned long long)blockIdx.x * width;
    Element sum = 0;
    for (unsigned int i = threadIdx.x; i < width; i += blockDim.x) sum += from[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = sum / (Element)width;
    }
}
