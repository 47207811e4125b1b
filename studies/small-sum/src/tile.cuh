// Code for all four versions: the sum of a block's tiles, first for each warp, then for the block.
struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Warps = 16, Threads = 32 * Warps;

// Returns a warp's sum over the tiles of its block, in lane 0.
template <unsigned int Loads>
__device__ Element warp_sum(const Element* in, unsigned long long n)
{
    const unsigned int tile = Loads * Threads * Width;
    unsigned int tid = threadIdx.x;
    Element sum = 0;
    for (unsigned long long first = (unsigned long long)blockIdx.x * tile; first < n;
         first += (unsigned long long)gridDim.x * tile) {
        // Load: read all vectors of a tile before the first addition, or zero beyond the end.
        Vector vectors[Loads] = {};
        if (first + tile <= n && (unsigned long long)in % 16 == 0)
            for (int k = 0; k < Loads; k++)
                vectors[k] = *(const Vector*)(in + first + (k * Threads + tid) * Width);
        else
            for (int k = 0; k < Loads; k++)
                for (int e = 0; e < Width; e++) {
                    unsigned long long i = first + (k * Threads + tid) * Width + e;
                    if (i < n) vectors[k].data[e] = in[i];
                }
        for (int s = Loads / 2; s > 0; s /= 2)
            for (int k = 0; k < s; k++)
                for (int e = 0; e < Width; e++) vectors[k].data[e] += vectors[k + s].data[e];
        for (int s = Width / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) vectors[0].data[e] += vectors[0].data[e + s];
        sum += vectors[0].data[0];
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Reduce: combine the sums of a block's warps into one, in thread 0.
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
