// A block adds 256 elements, which are copied to shared memory without passing through registers.
// Needs compute_80: asynchronous copies.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = 0;
    unsigned int to = (unsigned int)__cvta_generic_to_shared(shared + tid);
    if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();

    // Reduce: in each round, half as many threads add as in the round before.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: no thread waits for the copy, so it may not have completed before the addition.
