// Is a sum faster on tensor cores? This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O3 -arch=native tensor_sum.cu && ./a.out
//
// mma.sync.m16n8k16 multiplies a 16 x 16 matrix by a 16 x 8 matrix, and adds the product to a 16 x 8 matrix. If the
// second matrix is all ones, every column of the third matrix receives the row sums of the first. One instruction of a
// warp therefore adds 256 halves, which is 8 per lane or one vectorized load. An f32 has 24 significant bits and a tf32
// has 11, so one tf32 loses 13 of these bits, and three tf32 numbers lose none.
//
// Each kernel writes one partial sum per warp, and the host adds these in f64. Only the loop is therefore timed. All
// kernels have the same loads, with eight vectors in flight per thread; they differ in the way they add. The times are
// medians over runs whose input is outside L2.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

const int Threads = 256, Loads = 8, Blocks = 132 * 4, Runs = 101;

#define CHECK(call) \
    if (cudaError_t error = call) { \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
        return 1; \
    }

// ANCHOR: half
// Adds 8 halves from each lane to the row sums.
__device__ void mma_half(float (&sums)[4], uint4 a)
{
    unsigned int ones = 0x3c003c00;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
                 " {%8, %8}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(ones));
}
// ANCHOR_END: half

// Adds 4 floats from each lane to the row sums, rounded to the upper 11 bits of the significand.
__device__ void mma_tf32(float (&sums)[4], uint4 a)
{
    unsigned int ones = 0x3f800000;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
                 " {%8, %8}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(ones));
}

// Removes the upper 11 bits of a float's significand from the float, and returns them.
__device__ unsigned int upper(float& x)
{
    unsigned int bits = __float_as_uint(x) & 0xffffe000;
    x -= __uint_as_float(bits);
    return bits;
}

// The ways to add a vector.
struct HalfPlain {
    static constexpr const char* name = "f16, added as f32";
    static constexpr int bytes = 2;
    float sums[4] = {};
    __device__ void add(uint4 v)
    {
        const __half2* halves = (const __half2*)&v;
        for (int i = 0; i < 4; i++) {
            float2 pair = __half22float2(halves[i]);
            sums[i] += pair.x + pair.y;
        }
    }
    __device__ float sum() const { return sums[0] + sums[1] + sums[2] + sums[3]; }
};

struct HalfTensor {
    static constexpr const char* name = "f16, tensor cores";
    static constexpr int bytes = 2;
    float sums[4] = {};
    __device__ void add(uint4 v) { mma_half(sums, v); }
    // All columns are equal: lanes 0, 4, 8, ... hold column 0 of two rows each.
    __device__ float sum() const { return threadIdx.x % 4 == 0 ? sums[0] + sums[2] : 0; }
};

struct FloatPlain {
    static constexpr const char* name = "f32, added as f32";
    static constexpr int bytes = 4;
    float sums[4] = {};
    __device__ void add(uint4 v)
    {
        const float* floats = (const float*)&v;
        for (int i = 0; i < 4; i++) sums[i] += floats[i];
    }
    __device__ float sum() const { return sums[0] + sums[1] + sums[2] + sums[3]; }
};

struct FloatTensor {
    static constexpr const char* name = "f32 as one tf32, tensor cores";
    static constexpr int bytes = 4;
    float sums[4] = {};
    __device__ void add(uint4 v) { mma_tf32(sums, v); }
    __device__ float sum() const { return threadIdx.x % 4 == 0 ? sums[0] + sums[2] : 0; }
};

struct FloatThree {
    static constexpr const char* name = "f32 as three tf32, tensor cores";
    static constexpr int bytes = 4;
    float sums[4] = {};
    __device__ void add(uint4 v)
    {
        float* x = (float*)&v;
        for (int part = 0; part < 3; part++) {
            uint4 a = {upper(x[0]), upper(x[1]), upper(x[2]), upper(x[3])};
            mma_tf32(sums, a);
        }
    }
    __device__ float sum() const { return threadIdx.x % 4 == 0 ? sums[0] + sums[2] : 0; }
};

// The number of vectors is a multiple of the number that the grid loads in an iteration, so all lanes in a
// warp run the same number of iterations.
template <class Adder>
__global__ void __launch_bounds__(Threads, 4) loop(const uint4* in, float* out, size_t vectors)
{
    Adder adder;
    size_t i = size_t(blockIdx.x) * (Loads * Threads) + threadIdx.x;
    #pragma unroll 1
    for (; i < vectors; i += size_t(gridDim.x) * (Loads * Threads)) {
        uint4 next[Loads];
        for (int k = 0; k < Loads; k++) next[k] = in[i + k * Threads];
        for (int k = 0; k < Loads; k++) adder.add(next[k]);
    }
    float sum = adder.sum();
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * Threads + threadIdx.x) / 32] = sum;
}

// Returns element i, below 1: a multiple of 2^-11 for halves or 2^-24 for floats. Sums in double are exact.
__host__ __device__ double element(size_t i, int bytes)
{
    unsigned long long bits = (i + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bytes == 2 ? double(bits >> 53) / 2048 : double(bits >> 40) / 16777216;
}

__global__ void fill(void* out, size_t n, int bytes)
{
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        if (bytes == 2) ((__half*)out)[i] = __float2half(float(element(i, bytes)));
        else ((float*)out)[i] = float(element(i, bytes));
}

template <class Adder>
int measure(char* memory, size_t room, size_t bytes, float* partials)
{
    size_t vectors = bytes / 16, n = bytes / Adder::bytes, copies = room / bytes;
    double exact = 0;
    for (size_t i = 0; i < n; i++) exact += element(i, Adder::bytes);
    for (size_t copy = 0; copy < copies; copy++)
        fill<<<1024, 256>>>(memory + copy * bytes, n, Adder::bytes);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = 0; run < Runs; run++) {
        const uint4* in = (const uint4*)(memory + run % copies * bytes);
        CHECK(cudaEventRecord(begin));
        loop<Adder><<<Blocks, Threads>>>(in, partials, vectors);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(1e3f * ms);
    }
    std::vector<float> sums(Blocks * Threads / 32);
    CHECK(cudaMemcpy(sums.data(), partials, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float part : sums) sum += part;
    std::sort(times.begin(), times.end());
    std::printf("%zu,\"%s\",%zu,%.2f,%.2f,%.2f,%.0f,%.2e\n", bytes, Adder::name, n, times[Runs / 4],
                times[Runs / 2], times[3 * Runs / 4], bytes / times[Runs / 2] / 1e3,
                std::fabs(sum - exact) / exact);
    return 0;
}

int main()
{
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    // The sizes are 16.5 MiB, 264 MiB and 1056 MiB: multiples of the number of bytes that the grid loads in an iteration.
    size_t iteration = size_t(Blocks) * Threads * Loads * 16, room = 2112ull << 20;
    char* memory;
    float* partials;
    CHECK(cudaMalloc(&memory, room));
    CHECK(cudaMalloc(&partials, Blocks * Threads / 32 * sizeof(float)));
    std::printf("# %s\nbytes,kernel,n,q1_us,median_us,q3_us,gb_per_s,relative_error\n", gpu.name);
    for (size_t bytes : {iteration, 16 * iteration, 64 * iteration}) {
        if (measure<HalfPlain>(memory, room, bytes, partials)) return 1;
        if (measure<HalfTensor>(memory, room, bytes, partials)) return 1;
        if (measure<FloatPlain>(memory, room, bytes, partials)) return 1;
        if (measure<FloatTensor>(memory, room, bytes, partials)) return 1;
        if (measure<FloatThree>(memory, room, bytes, partials)) return 1;
    }
    return 0;
}
