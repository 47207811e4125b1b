// Votes, matches and the special registers of a warp: eight words per thread.
extern "C" __global__ void votes(const unsigned int* in, unsigned int* out, unsigned long long n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int value = i < n ? in[i] : 0;
    unsigned int* row = out + 8 * (unsigned long long)i;
    row[0] = __ballot_sync(0xffffffff, value % 3 == 0);
    row[1] = __all_sync(0xffffffff, value < 100) + 2 * __any_sync(0xffffffff, value == 7);
    row[2] = __popc(__activemask());
    unsigned int before, lane;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    row[3] = before;
    row[4] = lane;
    // Half of the warp: the mask names the active lanes.
    unsigned int half = 0;
    if (threadIdx.x % 32 < 16) {
        half = __ballot_sync(0xffff, value & 1);
    } else {
        half = __shfl_sync(0xffff0000, value, 16 + (value & 15));
    }
    row[5] = half;
#if __CUDA_ARCH__ >= 700
    row[6] = __match_any_sync(0xffffffff, value % 5);
    int same;
    row[7] = __match_all_sync(0xffffffff, value / 1000, &same) + same;
#else
    row[6] = row[7] = 0;
#endif
}
