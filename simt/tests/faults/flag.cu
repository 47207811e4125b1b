// Block 0 stores a value and sets a flag, and block 1 polls the flag; `n` selects the fences.
__device__ unsigned int flag = 0;

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    if (blockIdx.x == 0) {
        out[0] = in[0];
        if (n & 1) __threadfence();
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(&flag), "r"(1) : "memory");
    } else {
        unsigned int seen;
        do {
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&flag) : "memory");
        } while (!seen);
        if (n & 2) __threadfence();
        out[1] = out[0];
    }
}
