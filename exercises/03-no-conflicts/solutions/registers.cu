// The sum of a thread stays in a register, and only the upper half of the remaining values is stored.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    Element sum = i < n ? in[i] : 0;
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid >= s && tid < 2 * s) shared[tid] = sum;
        __syncthreads();
        if (tid < s) sum += shared[tid + s];
    }

    if (tid == 0) out[blockIdx.x] = sum;
}
