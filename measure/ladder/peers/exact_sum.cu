// What determines the time of an exact sum? This program times the kernels of step v13, its variants, and two other
// kernels, on 2^28 floats of several kinds.
//
//     nvcc -std=c++17 -O3 -arch=native -I ../../../steps/v13-exact-sum/src exact_sum.cu && ./a.out
//
// Every sum except the plain one is compared bit by bit with an integer sum. The times are medians, with quartiles, over
// runs whose input is outside L2. The kernels alternate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#define Element float
#define reduce reduce_apart
namespace apart {
#include "kernel.cu"
}
#undef reduce
#define reduce reduce_together
namespace together {
#include "variants/words-together.cu"
}
#undef TOGETHER
#undef reduce
#define reduce reduce_registers
namespace registers {
#include "variants/registers-first.cu"
}
#undef reduce

const int Runs = 21, Chunks = 256;
typedef unsigned long long Word;

#define CHECK(call) \
    if (cudaError_t error = call) { \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
        return 1; \
    }

// Adds a double to 64-bit words, each of which holds 32 bits of the sum, in units of 2^-150.
__device__ void put(Word* words, double x)
{
    if (x == 0) return;
    long long bits = __double_as_longlong(x), mantissa = (bits & ((1ll << 52) - 1)) | 1ll << 52;
    int place = int(bits >> 52 & 2047) - 1075 + 150;
    if (place < 0) mantissa >>= -place, place = 0;
    for (int k = 0, shift = place % 32; k < 3; k++) {
        Word digit = k == 0 ? (unsigned int)(mantissa << shift)
            : k == 1 ? (unsigned int)(Word(mantissa) << shift >> 32) : Word(mantissa) >> 1 >> (63 - shift);
        if (digit) atomicAdd(words + place / 32 + k, bits < 0 ? -digit : digit);
    }
}

// The loop of v11, which adds floats with rounding.
__global__ void __launch_bounds__(512, 2) plain(
    const float* in, float* out, Word n, Word size, unsigned int chunks, Word*, unsigned int*)
{
    Word i = blockIdx.x * size + threadIdx.x, end = min((blockIdx.x + 1) * size, n / 4);
    float4 sums = {};
    #pragma unroll 1
    for (; i < end; i += 8 * 512) {
        float4 next[8] = {};
        for (int k = 0; k < 8; k++) if (i + k * 512 < end) next[k] = ((const float4*)in)[i + k * 512];
        for (int k = 0; k < 8; k++) {
            sums.x += next[k].x; sums.y += next[k].y; sums.z += next[k].z; sums.w += next[k].w;
        }
    }
    float sum = sums.x + sums.y + sums.z + sums.w;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// Variant A: adds in registers, which are flushed to the block's integers if an addition is not exact.
__global__ void __launch_bounds__(512, 2) emptied(
    const float* in, float*, Word n, Word size, unsigned int chunks, Word* digits, unsigned int*)
{
    __shared__ Word words[12];
    if (threadIdx.x < 12) words[threadIdx.x] = 0;
    __syncthreads();
    Word i = blockIdx.x * size + threadIdx.x, end = min((blockIdx.x + 1) * size, n / 4);
    double sums[4] = {};
    #pragma unroll 1
    for (; i < end; i += 8 * 512) {
        float4 next[8] = {};
        for (int k = 0; k < 8; k++) if (i + k * 512 < end) next[k] = ((const float4*)in)[i + k * 512];
        for (int k = 0; k < 8; k++) {
            float four[4] = {next[k].x, next[k].y, next[k].z, next[k].w};
            for (int e = 0; e < 4; e++) {
                double x = four[e], sum = sums[e] + x;
                if (sum - sums[e] != x || sum - x != sums[e]) put(words, sums[e]), sum = x;
                sums[e] = sum;
            }
        }
    }
    for (int e = 0; e < 4; e++) put(words, sums[e]);
    __syncthreads();
    if (threadIdx.x < 12 && words[threadIdx.x]) atomicAdd(digits + threadIdx.x, words[threadIdx.x]);
}

__global__ void expected(const float* in, Word n, Word* digits)
{
    Word words[12] = {}, stride = Word(gridDim.x) * blockDim.x;
    for (Word i = Word(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned int bits = __float_as_uint(in[i]), exponent = bits >> 23 & 255;
        Word mantissa = (bits & 0x7fffff) | (exponent > 0 ? 0x800000 : 0);
        int place = max(exponent, 1);
        Word both = mantissa << place % 32;
        Word digit[2] = {(unsigned int)both, both >> 32};
        for (int k = 0; k < 2; k++) words[place / 32 + k] += int(bits) < 0 ? -digit[k] : digit[k];
    }
    for (int k = 0; k < 12; k++) if (words[k]) atomicAdd(digits + k, words[k]);
}

__device__ Word mixed(Word x)
{
    x += 0x9e3779b97f4a7c15, x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9, x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

const char* Kinds[] = {"uniform", "normal", "log-normal", "2^-20 to 2^20", "2^-126 to 2^127", "2^-100 and 2^100"};

__global__ void fill(float* out, Word n, int kind)
{
    Word stride = Word(gridDim.x) * blockDim.x;
    for (Word i = Word(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        Word r = mixed(2 * i), q = mixed(2 * i + 1);
        double u = ((r >> 11) + 0.5) / 9007199254740992.0, v = (q >> 11) / 9007199254740992.0;
        double sign = r & 1 ? 1 : -1, normal = sqrt(-2 * log(u)) * cospi(2 * v), x = u;
        if (kind == 1) x = normal;
        if (kind == 2) x = sign * exp(3 * normal);
        if (kind == 3) x = sign * ldexp(1 + v, int((r >> 8) % 41) - 20);
        if (kind == 4) x = sign * ldexp(1 + v, int((r >> 8) % 253) - 126);
        if (kind == 5) x = sign * ldexp(1 + v, i % 2 ? -100 : 100);
        out[i] = float(x);
    }
}

// Returns the nearest float: rounds 64 bits once; the last of these bits is sticky.
float nearest(std::vector<Word> words)
{
    long long carry = 0;
    for (Word& word : words) carry += word, word = (unsigned int)carry, carry >>= 32;
    bool negative = carry < 0;
    if (negative) {
        carry = 1;
        for (Word& word : words) carry += (unsigned int)~word, word = (unsigned int)carry, carry >>= 32;
    }
    int top = int(words.size()) - 1;
    while (top > 1 && words[top] == 0) top--;
    unsigned __int128 high = (unsigned __int128)words[top] << 64 | words[top - 1] << 32 | (top > 1 ? words[top - 2] : 0);
    bool rest = false;
    for (int k = 0; k + 2 < top; k++) rest |= words[k] != 0;
    int dropped = 0;
    for (; high >> 64 != 0; high >>= 1, dropped++) rest |= high & 1;
    long double value = std::ldexp((long double)(Word(high) | rest), 32 * (top - 2) - 150 + dropped);
    return float(negative ? -value : value);
}

typedef void (*Kernel)(const float*, float*, Word, Word, unsigned int, Word*, unsigned int*);
struct Way { const char* name; Kernel kernel; int shared; bool rounds; };

int main()
{
    const Word n = 1ull << 28;
    const int shared = 16 * 512 * 8;
    const Way ways[] = {{"plain", plain, 0, true}, {"registers, emptied", emptied, 0, true},
        {"registers, then bins", reduce_registers, shared, false},
        {"bins, words together", reduce_together, shared, false}, {"bins, words apart", reduce_apart, shared, false}};
    float *in, *out;
    Word* digits;
    unsigned int* tickets;
    CHECK(cudaMalloc(&in, n * 4));
    CHECK(cudaMalloc(&out, 4));
    CHECK(cudaMalloc(&digits, 12 * 8));
    CHECK(cudaMalloc(&tickets, 4));
    CHECK(cudaMemset(tickets, 0, 4));
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::printf("# %s, 2^28 f32\ndata,kernel,q1_us,median_us,q3_us,percent_of_plain,bits\n", device.name);
    for (const Way& way : ways)
        if (way.shared) CHECK(cudaFuncSetAttribute(way.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, way.shared));
    for (int kind = 0; kind < 6; kind++) {
        fill<<<1024, 256>>>(in, n, kind);
        std::vector<Word> words(12);
        CHECK(cudaMemset(digits, 0, 12 * 8));
        expected<<<512, 256>>>(in, n, digits);
        CHECK(cudaMemcpy(words.data(), digits, 12 * 8, cudaMemcpyDeviceToHost));
        const float right = nearest(words);
        std::vector<float> times[5];
        bool same[5] = {true, true, true, true, true};
        for (int run = 0; run < Runs; run++)
            for (int k = 0; k < 5; k++) {
                CHECK(cudaMemset(digits, 0, 12 * 8));
                CHECK(cudaMemset(out, 0, 4));
                cudaEventRecord(start);
                ways[k].kernel<<<Chunks, 512, ways[k].shared>>>(in, out, n, n / 4 / Chunks, Chunks, digits, tickets);
                cudaEventRecord(stop);
                CHECK(cudaEventSynchronize(stop));
                float ms, sum;
                cudaEventElapsedTime(&ms, start, stop);
                times[k].push_back(ms * 1000);
                CHECK(cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost));
                CHECK(cudaMemcpy(words.data(), digits, 12 * 8, cudaMemcpyDeviceToHost));
                if (ways[k].rounds) sum = nearest(words);
                same[k] = same[k] && sum == right;
            }
        for (std::vector<float>& sorted : times) std::sort(sorted.begin(), sorted.end());
        for (int k = 0; k < 5; k++)
            std::printf("\"%s\",\"%s\",%.1f,%.1f,%.1f,%.1f,%s\n", Kinds[kind], ways[k].name, times[k][Runs / 4],
                times[k][Runs / 2], times[k][3 * Runs / 4], 100 * times[0][Runs / 2] / times[k][Runs / 2],
                k == 0 ? "rounded" : same[k] ? "exact" : "WRONG");
    }
}
