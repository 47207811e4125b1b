// A warp adds 32 lanes' shares by shuffles; whoever is there after the loop is in the mask.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * 32 + tid;

    // Load: every lane its share, which is an element longer for some.
    Element sum = 0;
    #pragma unroll 1
    for (; i < n; i += (unsigned long long)gridDim.x * 32) sum += in[i];

    // Reduce: each round adds what a lane further on has.
    unsigned int mask = __activemask();
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(mask, sum, s);

    // Store: the warp's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
// Wrong: the mask holds whoever happens to be there, and nothing promises that all lanes are.
