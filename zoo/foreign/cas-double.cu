// atomicAdd for doubles, implemented by compare-and-swap (the CUDA C++ programming guide, for devices without this atomicAdd).
extern "C" __global__ void run(const float* in, double* out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long* word = (unsigned long long*)out;
    unsigned long long old = *(volatile unsigned long long*)word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __double_as_longlong(__longlong_as_double(seen) + in[i]));
    } while (old != seen);
}
