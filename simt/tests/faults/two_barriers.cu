// Each half of a warp waits at its own barrier instruction, but an aligned barrier must be one instruction.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    Element value = tid < n ? in[tid] : 0;
    if (tid % 32 < 16) {
        asm volatile("bar.sync 0; // here" ::: "memory");
        out[tid] = value;
    } else {
        asm volatile("bar.sync 0; // there" ::: "memory");
        out[tid] = value + 1;
    }
}
