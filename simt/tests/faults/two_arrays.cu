// The first array is too small for the block, and the second array follows it.
extern "C" __global__ void reduce(const float *in, float *out, unsigned long long n) {
    __shared__ float few[64];
    __shared__ float many[512];
    unsigned tid = threadIdx.x;
    many[tid] = 1;
    few[tid] = tid < n ? in[tid] : 0;
    __syncthreads();
    out[tid] = few[tid ^ 1] + many[tid ^ 1];
}
