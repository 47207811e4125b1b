// A warp adds the sums of 32 lanes by shuffles; the mask contains the lanes active after the loop.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * 32 + tid;

    // Load: every lane adds its elements; some lanes have one more element.
    Element sum = 0;
    #pragma unroll 1
    for (; i < n; i += (unsigned long long)gridDim.x * 32) sum += in[i];

    // Reduce: in each round, add the sum of a higher lane.
    unsigned int mask = __activemask();
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(mask, sum, s);

    // Store: write the warp's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
// Wrong: the mask contains the lanes that happen to be active, which may not be all 32 lanes.
