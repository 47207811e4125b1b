// Chained scan (Yan, Long and Zhang, StreamScan, 2013): each block waits only for its left neighbour's sum.
extern "C" __global__ void run(const int* in, int* out, unsigned int n, unsigned int* scratch)
{
    __shared__ unsigned int tile;
    __shared__ int row[128], before;
    volatile unsigned int* flags = scratch + 1;
    volatile int* sums = (volatile int*)(scratch + 65);
    unsigned int tid = threadIdx.x;
    if (tid == 0) tile = atomicAdd(scratch, 1);
    __syncthreads();
    unsigned int i = tile * 128 + tid;
    row[tid] = i < n ? in[i] : 0;
    __syncthreads();
    if (tid == 0) {
        for (int k = 1; k < 128; k++) row[k] += row[k - 1];
        if (tile > 0) while (flags[tile - 1] == 0);
        __threadfence();
        before = tile > 0 ? sums[tile - 1] : 0;
        sums[tile] = before + row[127];
        __threadfence();
        flags[tile] = 1;
    }
    __syncthreads();
    if (i < n) out[i] = before + row[tid];
}
