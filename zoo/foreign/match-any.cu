// Sums by key (Westphal, NVIDIA's developer blog, 2015): lanes with the same key find each other, and one of these lanes adds.
// Needs compute_80: __reduce_add_sync.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : 0, key = i < n ? value & 7 : 8;
    unsigned int peers = __match_any_sync(0xffffffff, key);
    int sum = __reduce_add_sync(peers, value);
    if (key < 8 && threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&out[key], sum);
}
