// An ordinary store sets a counter. Other threads add to it before the store is visible to them.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ unsigned int count;
    if (threadIdx.x == 0) {
        count = 0;
        atomicAdd(&count, 1);
    }
    if (n) __syncthreads();
    if (threadIdx.x >= 32) atomicAdd(&count, 1);
    __syncthreads();
    out[threadIdx.x] = count;
}
