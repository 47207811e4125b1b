// Bitonic sort within a block (Batcher, 1968). Afterwards, one load gives any order statistic; the kernel stores all of them.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int row[128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid;
    row[tid] = i < n ? in[i] : 0x7fffffff;
    for (unsigned int size = 2; size <= 128; size *= 2)
        for (unsigned int s = size / 2; s > 0; s /= 2) {
            __syncthreads();
            unsigned int other = tid ^ s;
            if (other < tid) continue; // The other thread handles this pair.
            int mine = row[tid], theirs = row[other];
            if ((mine > theirs) == ((tid & size) == 0)) row[tid] = theirs, row[other] = mine;
        }
    __syncthreads();
    if (i < n) out[i] = row[tid];
}
