// A sum of small numbers, computed by votes (Harris and Garland, 2011): for each bit position, the
// set bits are counted.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int value = i < n ? in[i] + 11 : 0, sum = 0;
    for (int bit = 0; bit < 5; bit++) sum += __popc(__ballot_sync(0xffffffff, value >> bit & 1)) << bit;
    unsigned int there = __popc(__ballot_sync(0xffffffff, i < n));
    if (threadIdx.x % 32 == 0) atomicAdd(out, (int)(sum - 11 * there));
}
