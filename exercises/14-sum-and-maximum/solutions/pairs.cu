// A pair is a type with its own addition.
// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

struct Pair { Element sum, most; };

__device__ Pair add(Pair a, Pair b)
{
    return { a.sum + b.sum, b.most > a.most ? b.most : a.most };
}

__device__ Pair warp(Pair pair)
{
    for (int mask = 1; mask < 32; mask *= 2)
        pair = add(pair, { __shfl_xor_sync(0xffffffff, pair.sum, mask),
                           __shfl_xor_sync(0xffffffff, pair.most, mask) });
    return pair;
}

extern "C" __global__ void reduce(const Element* in, Element* sums, Element* maxima,
                                  unsigned long long n)
{
    __shared__ Pair shared[32];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    Pair none = { 0, lowest() }, pair = none;
    for (int k = 0; k < 2; k++, i += blockDim.x)
        if (i < n) pair = add(pair, { in[i], in[i] });
    pair = warp(pair);
    if (tid % 32 == 0) shared[tid / 32] = pair;
    __syncthreads();
    if (tid >= 32) return;
    pair = warp(tid < blockDim.x / 32 ? shared[tid] : none);
    if (tid == 0) {
        sums[blockIdx.x] = pair.sum;
        maxima[blockIdx.x] = pair.most;
    }
}
