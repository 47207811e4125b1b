// The last warp works alone: its six rounds are unrolled and need no block barrier.
// Remaining cost: a test, a halving and a jump in each of the earlier rounds, which form a loop.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * (2 * blockDim.x) + tid;

    // Load: read two elements per thread, or zero beyond the end.
    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
    __syncthreads();

    // Reduce: combine the block's elements into one.
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid < 32) {
        Element sum = shared[tid];
        sum += shared[tid + 32]; __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 16]; __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 8];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 4];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 2];  __syncwarp(); shared[tid] = sum; __syncwarp();
        sum += shared[tid + 1];  __syncwarp(); shared[tid] = sum;
    }

    // Store: write the block's partial sum.
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
