// Inclusive scan with few additions (after Brent and Kung, 1982), as Hwu, Kirk and El Hajj teach it.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int row[128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid;
    row[tid] = i < n ? in[i] : 0;
    for (unsigned int s = 1; s <= 64; s *= 2) {
        __syncthreads();
        unsigned int at = (tid + 1) * 2 * s - 1;
        if (at < 128) row[at] += row[at - s];
    }
    for (unsigned int s = 32; s > 0; s /= 2) {
        __syncthreads();
        unsigned int at = (tid + 1) * 2 * s - 1;
        if (at + s < 128) row[at + s] += row[at];
    }
    __syncthreads();
    if (i < n) out[i] = row[tid];
}
