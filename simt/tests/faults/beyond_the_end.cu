// The bounds check is missing, so the last block reads beyond the end of the input.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    shared[tid] = in[i];
    __syncthreads();
    if (tid == 0) out[blockIdx.x] = shared[0];
}
