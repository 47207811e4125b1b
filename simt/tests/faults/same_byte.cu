// Two threads write different values to one byte of a word, without synchronization.
extern "C" __global__ void reduce(const unsigned char* in, unsigned int* out, unsigned long long n)
{
    __shared__ unsigned char shared[256];
    unsigned int tid = threadIdx.x;
    shared[tid] = tid < n ? in[tid] : 0;
    if (tid % 4 == 3) shared[tid - 1] = 1;
    __syncthreads();
    if (tid < 64) out[tid] = ((unsigned int*)shared)[tid];
}
