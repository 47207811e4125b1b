// A thread loads two neighbours with one instruction, because two loads would read each sector twice.
struct alignas(2 * sizeof(Element)) Pair { Element data[2]; };

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = ((unsigned long long)blockIdx.x * blockDim.x + tid) * 2;
    Element sum = i + 1 == n ? in[i] : 0;
    if (i + 1 < n) {
        Pair pair = *(const Pair*)(in + i);
        sum = pair.data[0] + pair.data[1];
    }
    shared[tid] = sum;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
