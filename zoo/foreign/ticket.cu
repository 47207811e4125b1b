// The last block adds the partial sums (threadFenceReduction, CUDA samples), with libcu++'s acquire and release operations instead of fences.
// Needs compute_70: atom.acq_rel.
extern "C" __global__ void run(const int* in, int* out, unsigned int n, unsigned int* scratch)
{
    __shared__ int total;
    __shared__ bool last;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (i < n) atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int before;
        scratch[1 + blockIdx.x] = total;
        asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(scratch) : "memory");
        last = before == gridDim.x - 1;
        total = 0;
    }
    __syncthreads();
    if (!last) return;
    for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) atomicAdd(&total, (int)scratch[1 + b]);
    __syncthreads();
    if (threadIdx.x == 0) *out = total;
}
