// Threads beyond the end return, but the others wait for them at the barrier.
extern "C" __global__ void reduce(const float *in, float *out, unsigned long long n) {
    extern __shared__ float shared[];
    unsigned tid = threadIdx.x;
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + tid;
    if (i >= n) return;
    shared[tid] = in[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s && i + s < n) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = shared[0];
}
