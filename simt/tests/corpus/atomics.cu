// Every atomic operation once, in shared and in global memory; the results combine all threads.
extern "C" __global__ void atomics(const unsigned int* in, unsigned int* out, unsigned long long n)
{
    __shared__ unsigned int count[2];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 2) count[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&count[0], in[i]);
        atomicOr(&count[1], in[i]);
        atomicSub(&out[2], in[i]);
        atomicMin(&out[3], in[i]);
        atomicMax((int*)&out[4], (int)in[i]);
        atomicAnd(&out[5], in[i]);
        atomicXor(&out[6], in[i]);
        atomicInc(&out[7], 100);
        atomicDec(&out[8], 100);
        atomicAdd((float*)&out[9], 0.5f);
        // A lock-free maximum by compare and swap.
        unsigned int seen = *(volatile unsigned int*)&out[10];
        for (;;) {
            unsigned int assumed = seen;
            if (in[i] <= assumed) break;
            seen = atomicCAS(&out[10], assumed, in[i]);
            if (seen == assumed) break;
        }
        if (i == 5) out[11] = atomicExch(&out[12], in[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&out[0], count[0]);
    if (threadIdx.x == 1) atomicOr(&out[1], count[1]);
}
