// Pairwise summation (Higham, 1993) on a stack in local memory: halves of equal size are added as soon as both exist.
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    float stack[16];
    int top = 0;
    unsigned int count = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 128) {
        float sum = in[i];
        for (unsigned int bit = count++; bit & 1; bit >>= 1) sum += stack[--top];
        stack[top++] = sum;
    }
    float sum = 0;
    while (top > 0) sum += stack[--top];
    atomicAdd(out, sum);
}
