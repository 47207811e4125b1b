// Half of a warp does not reach the barrier.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    shared[tid] = tid < n ? in[tid] : 0;
    if (tid % 32 < 16) {
        __syncthreads();
        shared[tid] += shared[tid + 16];
    }
    out[tid] = shared[tid];
}
