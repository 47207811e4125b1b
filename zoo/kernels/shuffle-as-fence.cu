// A warp adds 32 elements: neighbours exchange values in shared memory, and a shuffle keeps the warp together.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * 32 + tid;

    // Load: read one element per thread, or zero beyond the end.
    Element sum = i < n ? in[i] : 0;

    // Reduce: lane 0 broadcasts the number of elements; by then, all lanes have stored their elements.
    shared[tid] = sum;
    unsigned int lanes = __shfl_sync(0xffffffff, blockDim.x, 0);
    sum += shared[lanes - 1 - tid];
    for (int s = 8; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: write the warp's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
// Wrong: a shuffle exchanges registers but does not order memory; `__syncwarp()` does.
