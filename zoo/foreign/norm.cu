// Euclidean norm without overflow (LAPACK's xLASSQ; Blue, 1978): the kernel keeps a scale, and adds the squares of the scaled values.
__device__ void join(float& scale, float& square, float other, float others)
{
    if (other > scale) {
        square = others + square * (scale / other) * (scale / other);
        scale = other;
    } else if (scale > 0) {
        square += others * (other / scale) * (other / scale);
    }
}
extern "C" __global__ void run(const float* in, float* out, unsigned int n)
{
    __shared__ float scales[128], squares[128];
    float scale = 0, square = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 128) join(scale, square, fabsf(in[i]) * 1e30f, 1);
    for (unsigned int s = 128; s > 1;) {
        scales[threadIdx.x] = scale, squares[threadIdx.x] = square;
        __syncthreads();
        s /= 2;
        if (threadIdx.x < s) join(scale, square, scales[threadIdx.x + s], squares[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = scale / 1e30f * sqrtf(square);
}
