// A block adds 512 elements, two per thread.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] + in[i + blockDim.x] : 0;
    __syncthreads();

    // Reduce: in each round, half as many threads add as in the round before.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: the second element may be beyond the end even if the first is not.
