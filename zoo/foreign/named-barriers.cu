// Producer and consumer warps (Bauer, Cook and Khailany, CudaDMA, 2011): there are two named barriers, one for a full buffer and one for an empty buffer.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int tile[64];
    unsigned int tid = threadIdx.x;
    int sum = 0;
    for (unsigned int first = 0; first < n; first += 64) {
        if (tid >= 64) {
            if (first > 0) asm volatile("bar.sync 2, 128;" ::: "memory");
            tile[tid - 64] = first + tid - 64 < n ? in[first + tid - 64] : 0;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum += tile[63 - tid];
            if (first + 64 < n) asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
    if (tid >= 64) return;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) atomicAdd(out, sum);
}
