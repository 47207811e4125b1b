// Warps without an addition continue to the next barrier without computing an index.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    for (unsigned int s = 1, pairs = blockDim.x / 2; pairs > 0; s *= 2, pairs /= 2) {
        if (tid < pairs) {
            Element* left = shared + 2 * s * tid;
            *left = *left + left[s];
        }
        __syncthreads();
    }

    if (tid == 0) out[blockIdx.x] = shared[0];
}
