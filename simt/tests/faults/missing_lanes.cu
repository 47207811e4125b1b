// Half of the warp waits for the whole warp, and the other half waits for the block, so neither wait ends.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    Element value = tid < n ? in[tid] : 0;
    if (tid % 32 < 16) {
        __syncwarp();
        out[tid] = value;
    } else {
        asm volatile("barrier.sync 0;" ::: "memory");
        out[tid] = value + 1;
    }
}
