// Each half of a warp synchronizes separately; `n` selects an element of the same or of the other half.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    shared[tid] = in[tid];
    if (tid < 16) {
        __syncwarp(0x0000ffff);
        out[tid] = shared[tid ^ (unsigned int)n];
    } else {
        __syncwarp(0xffff0000);
        out[tid] = shared[tid ^ (unsigned int)n];
    }
}
