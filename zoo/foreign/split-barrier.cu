// A barrier in two halves (libcu++'s cuda::barrier): arrive, do other work, then wait.
// Needs compute_80: mbarrier.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int row[128];
    __shared__ unsigned long long barrier;
    unsigned int tid = threadIdx.x, i = blockIdx.x * 128 + tid, at = (unsigned int)__cvta_generic_to_shared(&barrier);
    if (tid == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(at) : "memory");
    __syncthreads();
    row[tid] = i < n ? in[i] : 0;
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
    int sum = row[tid] * 2, over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(at), "l"(token) : "memory");
    sum += row[(tid + 1) % 128];
    if (i < n) out[i] = sum;
}
