// Two half-precision sums per register (Ho and Wong, 2017): elements are added in pairs, then in a butterfly.
__device__ unsigned int add(unsigned int a, unsigned int b)
{
    unsigned int sum;
    asm("add.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}
extern "C" __global__ void run(const unsigned short* in, float* out, unsigned int n)
{
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n + 1) / 2; i += gridDim.x * blockDim.x)
        sum = add(sum, 2 * i + 1 < n ? ((const unsigned int*)in)[i] : in[2 * i]);
    for (int s = 16; s > 0; s /= 2) sum = add(sum, __shfl_xor_sync(0xffffffff, sum, s));
    float low, high;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(sum));
    if (threadIdx.x % 32 == 0) atomicAdd(out, low + high);
}
