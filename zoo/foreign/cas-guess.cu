// atomicAdd for doubles by compare-and-swap, whose first read is plain (the CUDA C++ programming guide), in shared and then in global memory.
__device__ void add(double* address, double value)
{
    unsigned long long int* word = (unsigned long long int*)address;
    unsigned long long int old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
}

extern "C" __global__ void run(const float* in, double* out, unsigned int n)
{
    __shared__ double total;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (i < n) add(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) add(out, total);
}
