// A warp adds its elements by shuffles, in the lanes that have an element.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * 32 + tid;

    if (i < n) {
        // Load: read one element per thread.
        Element sum = in[i];

        // Reduce: in each round, add the sum of a higher lane.
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

        // Store: write the warp's sum.
        if (tid == 0) out[blockIdx.x] = sum;
    }
}
// Wrong: the mask names 32 lanes, but those beyond the end never execute the shuffle.
