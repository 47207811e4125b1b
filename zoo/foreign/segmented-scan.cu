// Segmented scan (Sengupta, Harris, Zhang and Owens, 2007): pairs of a flag and a sum; a value below -8 starts a segment.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int sums[128];
    __shared__ bool heads[128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid;
    int sum = i < n ? in[i] : 0;
    bool head = sum < -8;
    for (unsigned int s = 1; s < 128; s *= 2) {
        sums[tid] = sum;
        heads[tid] = head;
        __syncthreads();
        if (tid >= s && !head) {
            sum += sums[tid - s];
            head = heads[tid - s];
        }
        __syncthreads();
    }
    if (i < n) out[i] = sum;
}
