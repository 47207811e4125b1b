// Is CUB's gpu_to_gpu sum correct on this GPU? This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O3 -arch=native -I <cccl 3.2 or later> gpu_to_gpu.cu && ./a.out
//
// The numbers are k / 2^24 with a pseudorandom 24-bit k, which lie between 0 and 1, and then (k - 2^23) / 2^23, which
// lie between -1 and 1. Every number is a float, and the exact sum is a sum of integers.
#include <cub/device/device_reduce.cuh>
#include <cuda/execution>
#include <thrust/device_vector.h>
#include <thrust/transform_reduce.h>

#include <cstdio>

struct Random {
    __host__ __device__ unsigned long long operator()(unsigned long long i) const
    {
        i = (i + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        i = (i ^ i >> 27) * 0x94d049bb133111eb;
        return i >> 40;
    }
};

struct Number {
    bool sign;
    __host__ __device__ float operator()(unsigned long long i) const
    {
        float k = Random{}(i);
        return sign ? (k - 8388608.0f) / 8388608.0f : k / 16777216.0f;
    }
};

template <class Determinism>
float sum(const thrust::device_vector<float>& in, Determinism determinism)
{
    thrust::device_vector<float> out(1);
    auto env = cuda::std::execution::env{cuda::execution::require(determinism)};
    auto n = static_cast<long long>(in.size());
    cudaError_t error = cub::DeviceReduce::Sum(thrust::raw_pointer_cast(in.data()), out.begin(), n, env);
    if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
    return out[0];
}

int main()
{
    cudaDeviceProp gpu;
    cudaGetDeviceProperties(&gpu, 0);
    std::printf("%s, CCCL %d\n", gpu.name, CCCL_VERSION);
    for (bool sign : {false, true}) {
        std::printf("\nfrom %d to 1: %13s %17s %17s\n", -sign, "exact", "run_to_run", "gpu_to_gpu");
        for (int power = 26; power <= 32; power++) {
            unsigned long long n = 1ull << power;
            if (n * 4 > gpu.totalGlobalMem * 0.8) break;
            thrust::counting_iterator<unsigned long long> from(0);
            thrust::device_vector<float> in(n);
            thrust::transform(from, from + n, in.begin(), Number{sign});
            auto all = thrust::transform_reduce(from, from + n, Random{}, 0ull, thrust::plus<unsigned long long>{});
            double exact = sign ? (double)(long long)(all - (n << 23)) / 8388608.0 : all / 16777216.0;
            float plain = sum(in, cuda::execution::determinism::run_to_run);
            float fixed = sum(in, cuda::execution::determinism::gpu_to_gpu);
            std::printf("2^%d %22.3f %17.9g %17.9g\n", power, exact, plain, fixed);
        }
    }
}
