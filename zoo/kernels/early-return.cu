// A block adds 256 elements as a tree in shared memory; threads beyond the end have nothing to do.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: one element a thread.
    shared[tid] = 0;
    if (i >= n) return;
    shared[tid] = in[i];
    __syncthreads();

    // Reduce: in every round half as many threads add.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: a barrier waits for every thread of its block, and those beyond the end have returned.
