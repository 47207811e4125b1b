// How long does a load take, on an idle GPU and on a busy one? This is a standalone program, without code from
// this project.
//
//     nvcc -std=c++17 -O3 -arch=native latency.cu && ./a.out
//
// One thread in block 0 follows a chain of addresses through a gigabyte, so that each load waits for the
// previous load, and times the chain with its SM's clock. All other blocks load vectors of 16 bytes, with
// `flight` vectors in flight in each thread, until the chain ends, and count the vectors. Each line of the output
// has the bytes in flight per SM, the total throughput, and the chain's latency, as the median and the range
// over nine trials.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#define CHECK(call) \
    if (cudaError_t error = call; error != cudaSuccess) { \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
        return 1; \
    }

const int Links = 2000, Trials = 9;

template <int Flight>
__global__ void probe(const unsigned int* chain, const uint4* data, unsigned long long vectors,
                      volatile int* ended, unsigned long long* loaded, unsigned long long* took, unsigned int* last)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x != 0) return;
        // Gives the other blocks time to fill the queues.
        unsigned long long start, now;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
        do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - start < 200000);
        unsigned int at = *last;
        long long from = clock64();
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
        for (int link = 0; link < Links; link++) {
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
        }
        long long to = clock64();
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        *last = at;
        took[0] = to - from;
        took[1] = now - start;
        __threadfence();
        *ended = 1;
        return;
    }
    if (Flight == 0) return;
    unsigned long long stride = (unsigned long long)(gridDim.x - 1) * blockDim.x, mine = 0;
    unsigned long long i = (unsigned long long)(blockIdx.x - 1) * blockDim.x + threadIdx.x;
    uint4 sum = {};
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    while (!*ended) {
        // The flag is read rarely, because nothing else is in flight while the read waits.
#pragma unroll 1
        for (int round = 0; round < 32; round++) {
            uint4 next[Flight ? Flight : 1];
#pragma unroll
            for (int k = 0; k < Flight; k++) next[k] = __ldcs(data + ((i + k * stride) & (vectors - 1)));
#pragma unroll
            for (int k = 0; k < Flight; k++) sum.x ^= next[k].x, sum.y ^= next[k].y, sum.z ^= next[k].z, sum.w ^= next[k].w;
            i += Flight * stride;
        }
        mine += 32 * Flight;
    }
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345678) mine += 1ull << 60;
    if (threadIdx.x == 0) loaded[2 * blockIdx.x] = mine * blockDim.x, loaded[2 * blockIdx.x + 1] = now - start;
}

template <int Flight>
int line(int sms, int blocks, int threads, const unsigned int* chain, const uint4* data, unsigned long long vectors,
         unsigned int* last)
{
    int grid = 1 + (Flight ? sms * blocks : 0);
    int* ended;
    unsigned long long *loaded, *took;
    CHECK(cudaMalloc(&ended, 4));
    CHECK(cudaMalloc(&loaded, 16ull * grid));
    CHECK(cudaMalloc(&took, 16));
    std::vector<double> cycles, ns, rates;
    for (int trial = 0; trial < Trials; trial++) {
        CHECK(cudaMemset(ended, 0, 4));
        CHECK(cudaMemset(loaded, 0, 16ull * grid));
        probe<Flight><<<grid, threads>>>(chain, data, vectors, ended, loaded, took, last);
        CHECK(cudaDeviceSynchronize());
        unsigned long long t[2];
        std::vector<unsigned long long> l(2 * grid);
        CHECK(cudaMemcpy(t, took, 16, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(l.data(), loaded, 16ull * grid, cudaMemcpyDeviceToHost));
        double rate = 0;
        for (int b = 1; b < grid; b++) if (l[2 * b + 1]) rate += 16.0 * l[2 * b] / l[2 * b + 1];
        cycles.push_back((double)t[0] / Links);
        ns.push_back((double)t[1] / Links);
        rates.push_back(rate);
    }
    for (auto* v : {&cycles, &ns, &rates}) std::sort(v->begin(), v->end());
    std::printf("%d,%d,%d,%.1f,%.0f,%.1f,%.1f,%.1f,%.1f\n", Flight, blocks, threads, Flight * 16.0 * blocks * threads / 1024,
                rates[Trials / 2], cycles[Trials / 2], ns[Trials / 2], ns.front(), ns.back());
    CHECK(cudaFree(ended));
    CHECK(cudaFree(loaded));
    CHECK(cudaFree(took));
    return 0;
}

int main()
{
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    const unsigned int lines = 1u << 23; // of 128 bytes each: a gigabyte
    const unsigned long long vectors = 1ull << 28; // four gigabytes
    // The chain is a single cycle through all cache lines, in random order.
    std::vector<unsigned int> order(lines), chain((size_t)lines * 32);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
    for (unsigned int i = 0; i < lines; i++) chain[32ull * order[i]] = 32 * order[(i + 1) % lines];
    unsigned int* links;
    uint4* data;
    CHECK(cudaMalloc(&links, chain.size() * 4));
    CHECK(cudaMemcpy(links, chain.data(), chain.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&data, 16 * vectors));
    CHECK(cudaMemset(data, 0, 16 * vectors));
    std::printf("# %s, %d SMs; one warp follows a chain of %d loads, %d trials\n", gpu.name, gpu.multiProcessorCount, Links, Trials);
    std::printf("flight,blocks,threads,kib_in_flight,gb_per_s,cycles,ns,ns_least,ns_most\n");
    int sms = gpu.multiProcessorCount;
    // The position in the chain is kept, so that no trial reads a line that an earlier trial has brought into L2.
    unsigned int* last;
    CHECK(cudaMalloc(&last, 4));
    CHECK(cudaMemset(last, 0, 4));
    if (line<0>(sms, 0, 32, links, data, vectors, last)) return 1;
    for (int blocks : {1, 2, 4, 6}) {
        for (int threads : {64, 128, 256}) {
            if (line<1>(sms, blocks, threads, links, data, vectors, last)) return 1;
        }
    }
    if (line<2>(sms, 4, 256, links, data, vectors, last)) return 1;
    if (line<4>(sms, 4, 256, links, data, vectors, last)) return 1;
    if (line<8>(sms, 3, 256, links, data, vectors, last)) return 1;
    return 0;
}
