// Barriers that count threads (the CUDA C++ programming guide, for compute capability 2.0 and higher).
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    unsigned int i = blockIdx.x * 128 + threadIdx.x;
    int value = i < n ? in[i] : 1;
    int count = __syncthreads_count(i < n && value > 0);
    int some = __syncthreads_or(value == 7), all = __syncthreads_and(value > -11);
    if (threadIdx.x == 0) out[blockIdx.x] = count << 2 | (some != 0) << 1 | (all != 0);
}
