// Tiles of eight lanes (cooperative groups; Harris and Perelygin, 2017): each tile has its own mask, rank and sum.
template <int Size> struct Tile {
    unsigned int rank = threadIdx.x % Size, mask = ((1u << Size) - 1) << (threadIdx.x % 32 - rank);
    __device__ int down(int value, int by) const { return __shfl_down_sync(mask, value, by, Size); }
    __device__ int from(int value, int lane) const { return __shfl_sync(mask, value, lane, Size); }
};
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    Tile<8> tile;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i - tile.rank >= n) return; // Whole tiles without elements exit.
    int sum = i < n ? in[i] : 0;
    for (int s = 4; s > 0; s /= 2) sum += tile.down(sum, s);
    int all = tile.from(sum, 0);
    if (i < n) out[i] = all;
}
