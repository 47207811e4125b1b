// Each round is a function that calls the next one; the compiler inlines all of them.
template <unsigned int S>
__device__ void round(Element* shared, unsigned int tid)
{
    if constexpr (S > 32) {
        if (tid < S) shared[tid] += shared[tid + S];
        __syncthreads();
        round<S / 2>(shared, tid);
    } else if (tid < 32) {
        Element sum = shared[tid] + shared[tid + 32];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (tid == 0) shared[0] = sum;
    }
}

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);
    __syncthreads();

    round<Block / 2>(shared, tid);

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

// There is one entry point for each block size; the host chooses the one to launch.
#define ENTRY(Block) \
    extern "C" __global__ void reduce_##Block(const Element* in, Element* out, unsigned long long n) \
    { reduce<Block>(in, out, n); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
