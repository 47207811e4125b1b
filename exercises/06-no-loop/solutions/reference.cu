// The block size is a template parameter, so the compiler keeps only the rounds that it needs.
template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * Block) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + Block < n ? in[i + Block] : 0);
    __syncthreads();

    // Reduce: combine the block's elements into one.
    if (Block >= 1024) { if (tid < 512) shared[tid] += shared[tid + 512]; __syncthreads(); }
    if (Block >=  512) { if (tid < 256) shared[tid] += shared[tid + 256]; __syncthreads(); }
    if (Block >=  256) { if (tid < 128) shared[tid] += shared[tid + 128]; __syncthreads(); }
    if (Block >=  128) { if (tid <  64) shared[tid] += shared[tid +  64]; __syncthreads(); }
    if (tid < 32) {
        Element sum = shared[tid];
        sum += shared[tid + 32]; __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 16]; __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 8];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 4];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 2];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 1];  __syncwarp(); shared[tid] = sum; __syncwarp();
    }

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
