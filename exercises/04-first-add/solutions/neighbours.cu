// A thread takes two neighbours: right too, though its loads are further apart.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = ((unsigned long long)blockIdx.x * blockDim.x + tid) * 2;
    shared[tid] = i + 1 < n ? in[i] + in[i + 1] : i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: the block's elements to one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }

    // Store: the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
