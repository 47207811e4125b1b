// No fault: neighbours write different bytes of one word, and read them after the barrier.
extern "C" __global__ void reduce(const unsigned char* in, unsigned int* out, unsigned long long n)
{
    __shared__ unsigned char shared[256];
    unsigned int tid = threadIdx.x;
    shared[tid] = tid < n ? in[tid] : 0;
    __syncthreads();
    if (tid < 64) out[tid] = ((unsigned int*)shared)[tid];
}
