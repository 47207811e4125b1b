// Inclusive scan in place (after Kogge and Stone, 1973): a barrier separates reads from writes.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int row[128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid;
    row[tid] = i < n ? in[i] : 0;
    for (unsigned int s = 1; s < 128; s *= 2) {
        __syncthreads();
        int sum = row[tid] + (tid >= s ? row[tid - s] : 0);
        __syncthreads();
        row[tid] = sum;
    }
    if (i < n) out[i] = row[tid];
}
