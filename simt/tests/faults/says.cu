// Threads print their elements.
extern "C" __global__ void reduce(const float *in, float *out, unsigned long long n) {
    unsigned tid = threadIdx.x;
    if (tid < n) {
        printf("%d: in = %f of %llu in %s\n", tid, in[tid], n, "all");
        if (tid % 2) printf("%5.1f|%-4u|%c|%08x|%g\n", in[tid], tid, 'x', tid, 0.25);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = 0;
}
