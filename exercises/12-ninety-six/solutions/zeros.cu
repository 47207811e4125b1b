// A tree over the next power of two: threads without a partner add nothing.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();
    unsigned int s = 1;
    while (2 * s < blockDim.x) s *= 2;
    for (; s > 0; s /= 2) {
        if (tid < s && tid + s < blockDim.x) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = shared[0];
}
