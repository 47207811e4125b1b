// What the four ways share: a block's tiles, and the tree from its threads to one value.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Warps = 16, Threads = 32 * Warps;

// The sum of a warp's share of the tiles that a block has, in its first lane.
template <unsigned int Words>
__device__ Element warp_sum(const Element* in, unsigned long long n)
{
    const unsigned int tile = Words * Threads * Lanes;
    unsigned int tid = threadIdx.x;
    Element sum = 0;
    for (unsigned long long first = (unsigned long long)blockIdx.x * tile; first < n;
         first += (unsigned long long)gridDim.x * tile) {
        // Load: all words of a tile before the first is added, zero beyond the end.
        Word words[Words] = {};
        if (first + tile <= n && (unsigned long long)in % 16 == 0)
            for (int w = 0; w < Words; w++)
                words[w] = *(const Word*)(in + first + (w * Threads + tid) * Lanes);
        else
            for (int w = 0; w < Words; w++)
                for (int e = 0; e < Lanes; e++) {
                    unsigned long long i = first + (w * Threads + tid) * Lanes + e;
                    if (i < n) words[w].at[e] = in[i];
                }
        for (int s = Words / 2; s > 0; s /= 2)
            for (int w = 0; w < s; w++)
                for (int e = 0; e < Lanes; e++) words[w].at[e] += words[w + s].at[e];
        for (int s = Lanes / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) words[0].at[e] += words[0].at[e + s];
        sum += words[0].at[0];
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Reduce: the sums of a block's warps to one, in thread 0.
__device__ Element block_sum(Element sum)
{
    __shared__ Element sums[Warps];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < Warps ? sums[threadIdx.x] : 0;
        for (int s = Warps / 2; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}
