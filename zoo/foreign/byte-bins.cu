// Histogram with private one-byte bins per thread (histogram64 of the CUDA samples; Podlozhnyuk, 2007).
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ unsigned char bins[32][128];
    unsigned int tid = threadIdx.x, i = blockIdx.x * 1024 + tid;
    for (int b = 0; b < 32; b++) bins[b][tid] = 0;
    for (int k = 0; k < 8; k++, i += 128) if (i < n) bins[in[i] + 11][tid]++;
    __syncthreads();
    if (tid >= 32) return;
    unsigned int sum = 0;
    for (int w = 0; w < 32; w++) {
        unsigned int four = ((unsigned int*)bins[tid])[(w + tid) % 32];
        sum += (four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24);
    }
    atomicAdd(&out[tid], (int)sum);
}
