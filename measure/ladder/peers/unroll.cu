// Does a second accumulator help because it shortens the chain of additions, or because more loads are in flight?
// This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O3 -arch=native unroll.cu && ./a.out
//
// 16 blocks of 256 threads each add a row of 2^20 floats. A kernel has one accumulator or two, and its loop is unrolled
// by hand-picked factors, so the loads before the first wait and the length of the chain vary independently. The
// elements are small integers, so all sums are exact. The input is read from memory: the copies together exceed L2.
#include <algorithm>
#include <cstdio>
#include <vector>

const int Threads = 256, Rows = 16, Runs = 101, Copies = 4;
const unsigned int Length = 1 << 20;

#define CHECK(call) \
    if (cudaError_t error = call) { \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
        return 1; \
    }

template <int Accumulators, int Unroll>
__global__ void add(const float* in, float* out)
{
    __shared__ float shared[Threads];
    const float* row = in + (size_t)blockIdx.x * Length + threadIdx.x;
    float sums[Accumulators] = {};
    #pragma unroll Unroll
    for (unsigned int i = 0; i < Length; i += Accumulators * Threads)
        for (int a = 0; a < Accumulators; a++) sums[a] += row[i + a * Threads];
    for (int a = 1; a < Accumulators; a++) sums[0] += sums[a];
    shared[threadIdx.x] = sums[0];
    __syncthreads();
    for (int s = Threads / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

__global__ void fill(float* out, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = i % 8;
}

template <int Accumulators, int Unroll>
int measure(const float* in, float* out)
{
    const size_t n = (size_t)Rows * Length;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = -5; run < Runs; run++) {
        CHECK(cudaEventRecord(begin));
        add<Accumulators, Unroll><<<Rows, Threads>>>(in + (run + 5) % Copies * n, out);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms, sums[Rows];
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        CHECK(cudaMemcpy(sums, out, sizeof(sums), cudaMemcpyDeviceToHost));
        for (float sum : sums) if (sum != 3.5f * Length) return std::printf("a sum is %f\n", sum), 1;
        if (run >= 0) times.push_back(1e3f * ms);
    }
    std::sort(times.begin(), times.end());
    std::printf("%d,%d,%d,%.2f,%.2f,%.2f\n", Accumulators, Unroll, Accumulators * Unroll, times[Runs / 4],
                times[Runs / 2], times[3 * Runs / 4]);
    return 0;
}

int main()
{
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    float *in, *out;
    const size_t n = (size_t)Copies * Rows * Length;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, Rows * sizeof(float)));
    fill<<<1024, 256>>>(in, n);
    CHECK(cudaGetLastError());
    std::printf("# %s\naccumulators,unroll,loads,q1_us,median_us,q3_us\n", gpu.name);
    // Twice, in opposite orders, so that a slow drift shows.
    for (int pass = 0; pass < 2; pass++) {
        if (measure<1, 4>(in, out)) return 1;
        if (measure<1, 8>(in, out)) return 1;
        if (measure<2, 2>(in, out)) return 1;
        if (measure<2, 4>(in, out)) return 1;
        if (measure<4, 1>(in, out)) return 1;
        if (measure<4, 2>(in, out)) return 1;
    }
    return 0;
}
