// Finds the largest element in a tree whose neutral element is the lowest value.
// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;

    // Load: read one element per thread, or the lowest value beyond the end and in place of NaN.
    Element most = lowest();
    if (i < n && in[i] > most) most = in[i];
    shared[tid] = most;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s && shared[tid + s] > shared[tid]) {
            shared[tid] = shared[tid + s];
        }
        __syncthreads();
    }

    // Store: write the block's maximum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
