// Every block adds its 1024 elements to one sum.
extern "C" __global__ void reduce(const Element* in, Element* out, long long n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Load: read one element per thread, or zero beyond the end.
    Element sum = 0;
    if (i < n) sum = in[i];

    // Reduce: combine each warp's values into one.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);

    // Store: add the warp's sum to the total.
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
// Wrong: from element 2^31 on, the index is negative, so it is less than n but points far before the input.
