// The lower half is added to the upper half; at the end, the last element holds the sum.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid >= blockDim.x - s) {
            shared[tid] += shared[tid - s];
        }
        __syncthreads();
    }

    if (tid == blockDim.x - 1) out[blockIdx.x] = shared[tid];
}
