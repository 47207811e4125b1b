// One thread skips the barrier.
extern "C" __global__ void reduce(const float *in, float *out, unsigned long long n) {
    __shared__ float shared[256];
    unsigned tid = threadIdx.x;
    shared[tid] = tid < n ? in[tid] : 0;
    if (tid != 0)
        __syncthreads();
    out[tid] = shared[tid ^ 1];
}
