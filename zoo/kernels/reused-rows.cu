// A block adds its even and its odd elements, with the same function and in the same rows.
__device__ Element add(Element sum)
{
    __shared__ Element rows[8];
    unsigned int tid = threadIdx.x;

    // Reduce: combine each warp's values into one; every thread then adds the warps' sums.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) rows[tid / 32] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned int w = 0; w < blockDim.x / 32; w++) sum += rows[w];
    return sum;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = 2 * ((unsigned long long)blockIdx.x * blockDim.x + tid);

    // Load: read two elements per thread, or zero beyond the end.
    Element even = i < n ? in[i] : 0, odd = i + 1 < n ? in[i + 1] : 0;

    // Reduce: add the even elements, then the odd ones.
    Element sum = add(even);
    sum += add(odd);

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = sum;
}
// Wrong: a warp may store its odd sum in a row before another warp has read the even sum there.
