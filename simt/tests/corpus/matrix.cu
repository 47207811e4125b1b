// Elements that are 2 by 2 matrices: their sum in any order, their product in the order of the input.
struct alignas(16) Matrix { float a, b, c, d; };

__device__ Matrix times(Matrix l, Matrix r)
{
    return { l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c, l.c * r.b + l.d * r.d };
}

__device__ Matrix plus(Matrix l, Matrix r) { return { l.a + r.a, l.b + r.b, l.c + r.c, l.d + r.d }; }

template <typename Op>
__device__ void tree(Matrix* shared, Matrix value, Op op)
{
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int left = 2 * s * threadIdx.x;
        if (left + s < blockDim.x) shared[left] = op(shared[left], shared[left + s]);
        __syncthreads();
    }
}

extern "C" __global__ void matrix_sum(const Matrix* in, Matrix* out, unsigned long long n)
{
    extern __shared__ Matrix shared[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    tree(shared, i < n ? in[i] : Matrix{ 0, 0, 0, 0 }, [](Matrix l, Matrix r) { return plus(l, r); });
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

extern "C" __global__ void matrix_product(const Matrix* in, Matrix* out, unsigned long long n)
{
    extern __shared__ Matrix shared[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    tree(shared, i < n ? in[i] : Matrix{ 1, 0, 0, 1 }, [](Matrix l, Matrix r) { return times(l, r); });
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}
