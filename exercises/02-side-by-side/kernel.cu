// The same additions as before, but the lanes that add are neighbours.
// Yours: the paragraph Reduce. In round s, thread t does the t-th addition of the round.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: one element per thread, zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: the block's elements to one.
    // Write it here: whole warps are active or idle.

    // Store: the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
