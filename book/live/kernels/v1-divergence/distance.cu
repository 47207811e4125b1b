// with other distances between lanes.
// Slider: words from lane to lane, 1 to 33, first 2.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    unsigned int distance;
    asm("mov.u32 %0, 2; // the slider" : "=r"(distance));

    // Place: value j is `distance` words after value j - 1, cyclically; no two values share a word.
    unsigned int even = distance & (0 - distance);
    auto place = [=](unsigned int j) { return (j * distance + j * even / blockDim.x) % blockDim.x; };

    // Load: read one element per thread, or zero beyond the end.
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[place(tid)] += shared[place(tid + s)];
        }
        __syncthreads();
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
