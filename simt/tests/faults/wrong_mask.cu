// Lanes 16 and up execute a shuffle whose mask does not name them.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    Element value = tid < n ? in[tid] : 0;
    out[tid] = __shfl_down_sync(0x0000ffff, value, 1);
}
