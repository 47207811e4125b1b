// A pipeline of asynchronous copies (CUTLASS's multistage, 2020): three stages, each with a wait.
// Needs compute_80: cp.async.
__device__ void copy(int* to, const int* from, unsigned int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2; cp.async.commit_group;"
                 :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
}
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int stages[3][128];
    unsigned int tid = threadIdx.x, ahead = tid;
    int sum = 0;
    for (int k = 0; k < 2; k++, ahead += 128) copy(&stages[k][tid], in + (ahead < n ? ahead : 0), ahead < n ? 4 : 0);
    for (unsigned int t = 0; t * 128 < n; t++, ahead += 128) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads(); // This tile has arrived, and the previous one has been read.
        copy(&stages[(t + 2) % 3][tid], in + (ahead < n ? ahead : 0), ahead < n ? 4 : 0);
        sum += stages[t % 3][127 - tid];
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) atomicAdd(out, sum);
}
