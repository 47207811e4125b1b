// The smallest and largest float, found with integer atomics (Herf's radix tricks, 2001): bits are
// flipped so that they sort in the order of the numbers.
extern "C" __global__ void run(const float* in, unsigned int* out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int bits = __float_as_uint(in[i]);
    bits ^= (unsigned int)((int)bits >> 31) | 0x80000000;
    atomicMax(&out[0], bits);
    atomicMax(&out[1], ~bits);
}
