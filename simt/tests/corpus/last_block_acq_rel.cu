// The last block, with one acquire-release atomic: the ticket itself orders the partial sums.
__device__ unsigned int finished = 0;

extern "C" __global__ void last_block_acq_rel(const Element* in, Element* out, unsigned long long n, Element* partial)
{
    extern __shared__ Element shared[];
    __shared__ unsigned int ticket;
    unsigned int tid = threadIdx.x;
    Element sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    shared[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = shared[0];
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket) : "l"(&finished), "r"(gridDim.x - 1) : "memory");
    }
    __syncthreads();
    if (ticket == gridDim.x - 1 && tid == 0) {
        sum = 0;
        for (unsigned int i = 0; i < gridDim.x; ++i) sum += partial[i];
        out[0] = sum;
    }
}
