// Sums of a matrix's rows of 33 elements, with one warp per row (Bell and Garland's CSR-vector, 2009, for dense rows).
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row * 33 >= n) return;
    float sum = 0;
    for (unsigned int i = row * 33 + lane; i < min((row + 1) * 33, n); i += 32) sum += in[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (lane == 0) out[row] = sum;
}
