// Functions that are not inlined: one has a loop and two returns, the other a call and local memory.
__device__ __noinline__ float halves(float x, int times) {
    for (int i = 0; i < times; i++) {
        if (x < 1) return x;
        x /= 2;
    }
    return x * 2;
}
struct Pair { float a; double b; };
__device__ __noinline__ Pair both(float x, int times) {
    __shared__ float kept[64];
    kept[threadIdx.x] = x;
    __syncthreads();
    return Pair{halves(kept[threadIdx.x ^ 1], times), halves(x, times + 1)};
}
extern "C" __global__ void reduce(const float *in, float *out, unsigned long long n) {
    unsigned tid = threadIdx.x;
    Pair p = both(in[tid], tid % 5);
    float once = halves(in[tid], 3);
    if (tid % 3 == 0) once = halves(once, 1);
    out[tid] = p.a + (float)p.b + once;
}
