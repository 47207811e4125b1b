// The partial sum stays in a register; threads exchange their sums through shared memory.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[1024];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    Element sum = 0;
    if (i < n) sum = in[i];
    shared[tid] = sum;
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s = s + s) {
        unsigned int pair = tid / (2 * s) * (2 * s);
        if (tid == pair) {
            sum = sum + shared[tid + s];
            shared[tid] = sum;
        }
        __syncthreads();
    }

    if (tid == 0) out[blockIdx.x] = sum;
}
