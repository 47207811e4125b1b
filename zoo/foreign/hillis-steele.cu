// Inclusive scan in log n steps (Hillis and Steele, 1986), alternating between two buffers.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int rows[2][128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid, now = 0;
    rows[0][tid] = i < n ? in[i] : 0;
    for (unsigned int s = 1; s < 128; s *= 2, now ^= 1) {
        __syncthreads();
        rows[now ^ 1][tid] = rows[now][tid] + (tid >= s ? rows[now][tid - s] : 0);
    }
    if (i < n) out[i] = rows[now][tid];
}
