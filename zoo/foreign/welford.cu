// Mean and variance in one pass (Welford, 1962), merged from two parts (Chan, Golub and LeVeque, 1979).
struct Part { float n, mean, square; };
__device__ void join(Part& a, Part b)
{
    float n = a.n + b.n, apart = b.mean - a.mean;
    if (n == 0) return;
    a = {n, a.mean + apart * b.n / n, a.square + b.square + apart * apart * a.n * b.n / n};
}
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    __shared__ Part parts[4];
    Part mine = {};
    for (unsigned int i = threadIdx.x; i < n; i += 128) join(mine, {1, in[i], 0});
    for (int s = 16; s > 0; s /= 2)
        join(mine, {__shfl_down_sync(0xffffffff, mine.n, s), __shfl_down_sync(0xffffffff, mine.mean, s),
                    __shfl_down_sync(0xffffffff, mine.square, s)});
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < 4; w++) join(mine, parts[w]);
    out[0] = mine.n, out[1] = mine.mean, out[2] = mine.square;
}
