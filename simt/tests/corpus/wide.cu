// Sums of 32-bit numbers in 64 bits, signed and unsigned, with 64-bit atomics.
extern "C" __global__ void wide(const int* in, unsigned long long* out, unsigned long long n)
{
    long long sum = 0;
    unsigned long long bits = 0, most = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
        bits += (unsigned int)in[i];
        unsigned long long product = (unsigned long long)(unsigned int)in[i] * 0x100000001ull;
        most = product > most ? product : most;
    }
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, s);
        bits += __shfl_xor_sync(0xffffffff, bits, s);
    }
    atomicMax(&out[2], most);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&out[0], (unsigned long long)sum);
        atomicAdd(&out[1], bits);
    }
}
