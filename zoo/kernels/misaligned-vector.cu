// A block adds 1024 elements, four per thread in one load; the slice begins after a header element.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element shared[256];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read four elements per thread; the first threads add the header and the remainder.
    const int4* words = (const int4*)(in + 1);
    int4 word = i < (n - 1) / 4 ? words[i] : make_int4(0, 0, 0, 0);
    Element sum = word.x + word.y + word.z + word.w;
    if (i == 0) sum += in[0];
    if (i < (n - 1) % 4) sum += in[n - 1 - i];
    shared[tid] = sum;
    __syncthreads();

    // Reduce: in each round, half as many threads add as in the round before.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }

    // Store: write the block's sum.
    if (tid == 0) out[blockIdx.x] = shared[0];
}
// Wrong: a load of 16 bytes needs an address that is a multiple of 16, and `in + 1` is not.
