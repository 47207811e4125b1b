// There are two separate tests, each of which guards one load.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = 2ull * blockIdx.x * blockDim.x + tid;
    Element sum = 0;
    if (i < n) sum = in[i];
    i += blockDim.x;
    if (i < n) sum += in[i];
    shared[tid] = sum;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
