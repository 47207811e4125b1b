// In one launch, every block stores its sum and takes a ticket; the last block adds all sums.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n,
                                  Element* partials, unsigned int* tickets)
{
    __shared__ bool last;
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * 32 + tid;

    // Load and reduce: combine a warp's values into one.
    Element sum = i < n ? in[i] : 0;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: write the block's sum, then take a ticket.
    if (tid == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(tickets, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();

    // The last block adds the sums of all blocks.
    if (last && tid == 0) {
        sum = 0;
        for (unsigned int b = 0; b < gridDim.x; b++) sum += partials[b];
        out[0] = sum;
    }
}
// Wrong: the next launch's tickets continue from this launch's, so none of its blocks is the last.
