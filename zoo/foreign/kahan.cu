// Compensated summation (Kahan, 1965; with Knuth's sums of two numbers): rounding errors are added separately.
__device__ void add(float& sum, float& lost, float value)
{
    float total = sum + value, part = total - sum;
    lost += (sum - (total - part)) + (value - part);
    sum = total;
}
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    float sum = threadIdx.x == 5 ? 1e9f : threadIdx.x == 77 ? -1e9f : 0, lost = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 128) add(sum, lost, in[i]);
    __shared__ float sums[128], losses[128];
    sums[threadIdx.x] = sum;
    losses[threadIdx.x] = lost;
    for (int s = 64; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) {
            add(sum, lost, sums[threadIdx.x + s]);
            sums[threadIdx.x] = sum;
            losses[threadIdx.x] = lost += losses[threadIdx.x + s];
        }
    }
    if (threadIdx.x == 0) *out = sum + lost;
}
