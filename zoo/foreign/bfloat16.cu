// bfloat16 elements, added in single precision (Micikevicius and others, 2018; PyTorch's accumulate types), rounded once at the end.
// Needs compute_80: cvt.rn.bf16.f32.
extern "C" __global__ void run(const unsigned short* in, float* out, unsigned int n)
{
    __shared__ float rows[4];
    float sum = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 128) sum += __uint_as_float((unsigned int)in[i] << 16);
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) rows[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    unsigned short rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(rows[0] + rows[1] + rows[2] + rows[3]));
    out[0] = rows[0] + rows[1] + rows[2] + rows[3];
    out[1] = __uint_as_float((unsigned int)rounded << 16);
}
