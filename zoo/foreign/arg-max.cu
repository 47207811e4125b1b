// The largest value and its first index, packed into one word (a common idiom; compare the pairs in Thrust and PyTorch).
extern "C" __global__ void run(const int* in, unsigned long long* out, unsigned int n)
{
    unsigned long long best = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long word = (unsigned long long)(in[i] ^ 0x80000000) << 32 | ~i;
        if (word > best) best = word;
    }
    for (int s = 16; s > 0; s /= 2) {
        unsigned long long other = __shfl_down_sync(0xffffffff, best, s);
        if (other > best) best = other;
    }
    if (threadIdx.x % 32 == 0) atomicMax(out, best);
}
