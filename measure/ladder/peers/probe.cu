// How fast is each part of a multiprocessor? This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O3 -arch=native probe.cu && ./a.out > h200.toml
//
// It prints a table for `predict`: the latency and the issue cycles of each kind of instruction, the passes over shared
// memory, the cost of barriers, fences and atomics, the start of blocks and kernels, and bandwidths. A latency is
// measured with a chain of dependent instructions in one warp. A rate is measured with 32 warps that have four
// independent chains each; it is the number of cycles for which one warp instruction occupies its scheduler or, for
// shared memory, its multiprocessor. Each number is the median of eleven trials.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call) \
    if (cudaError_t error = call; error != cudaSuccess) { \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
        std::exit(1); \
    }
typedef unsigned int u32;
typedef unsigned long long u64;
const int Trials = 11, Links = 256;

double median(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }

enum Kind { Int, Mad, Float, Wide, Remainder, Special, Shuffle, Redux, Load, Load16, Store, Conflict2, Conflict32, Barrier, WarpBarrier, Double };
extern __shared__ __align__(16) u32 shared[];

template <int K> __device__ void op(u32& x, u32& high, u32 y, u32 at)
{
    if (K == Int) asm volatile("{ .reg .u32 t; add.u32 t, %0, %1; xor.b32 %0, t, %2; }" : "+r"(x) : "r"(y), "r"(at));
    if (K == Mad) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(at));
    if (K == Float) asm volatile("add.f32 %0, %0, %1;" : "+r"(x) : "r"(y));
    if (K == Double) asm volatile("{ .reg .f64 a; mov.b64 a, {%0, %1}; add.f64 a, a, a; mov.b64 {%0, %1}, a; }" : "+r"(x), "+r"(high));
    if (K == Wide) asm volatile("{ .reg .u64 a, b; mov.b64 a, {%0, %1}; mov.b64 b, {%2, %3}; add.u64 a, a, b; xor.b64 a, a, b; mov.b64 {%0, %1}, a; }" : "+r"(x), "+r"(high) : "r"(y), "r"(at));
    if (K == Remainder) asm volatile("{ .reg .u32 t; or.b32 t, %0, 1; rem.u32 %0, %1, t; }" : "+r"(x) : "r"(at));
    if (K == Special) asm volatile("{ .reg .u32 t; mov.u32 t, %%warpid; add.u32 %0, t, %0; }" : "+r"(x));
    if (K == Shuffle) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x));
    if (K == Redux) asm volatile("redux.sync.add.s32 %0, %0, 0xffffffff;" : "+r"(x));
    if (K == Load || K == Conflict2 || K == Conflict32) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x));
    if (K == Load16) asm volatile("{ .reg .u32 a, b, c; ld.volatile.shared.v4.u32 {%0, a, b, c}, [%0]; }" : "+r"(x));
    if (K == Store) asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(at), "r"(x) : "memory");
    if (K == Barrier) __syncthreads();
    if (K == WarpBarrier) __syncwarp();
}

// Returns the address of the first word of a lane's chain in shared memory. This word holds its own address, and
// the words of neighbouring lanes are `apart` bytes apart.
template <int K> __device__ u32 start()
{
    u32 base = (u32)__cvta_generic_to_shared(shared), lane = threadIdx.x % 32;
    u32 apart = K == Load16 ? 16 : K == Conflict2 ? 8 : K == Conflict32 ? 128 : 4;
    return base + lane * apart;
}

template <int K, int Chains> __global__ void kind(u64* cycles, u32* sink, u32 y)
{
    u32 base = (u32)__cvta_generic_to_shared(shared);
    for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) shared[i] = base + 4 * i;
    __syncthreads();
    bool address = K == Load || K == Load16 || K == Conflict2 || K == Conflict32;
    u32 x[Chains], high[Chains], at = start<K>();
    for (int c = 0; c < Chains; c++) x[c] = address ? at : threadIdx.x + c, high[c] = c;
    u64 from = 0, to = 0;
    for (int turn = 0; turn < 2; turn++) { // The first iteration fetches the code.
        __syncthreads();
        from = clock64();
#pragma unroll 1
        for (int i = 0; i < Links / 32; i++) {
#pragma unroll
            for (int k = 0; k < 32; k++) for (int c = 0; c < Chains; c++) op<K>(x[c], high[c], y, at);
        }
        __syncthreads();
        to = clock64();
    }
    u32 all = 0;
    for (int c = 0; c < Chains; c++) all ^= x[c] ^ high[c];
    sink[threadIdx.x] = all;
    if (threadIdx.x == 0) cycles[0] = to - from;
}

u64* Cycles;
u32* Sink;
int Sms; // The number of multiprocessors of the GPU.

template <int K, int Chains> double run(int threads)
{
    std::vector<double> all;
    for (int t = 0; t < Trials; t++) {
        kind<K, Chains><<<1, threads, 16384>>>(Cycles, Sink, 3);
        CHECK(cudaDeviceSynchronize());
        u64 cycles;
        CHECK(cudaMemcpy(&cycles, Cycles, 8, cudaMemcpyDeviceToHost));
        all.push_back((double)cycles / Links / Chains);
    }
    return median(all);
}

void print(const char* key, double value, const char* what) { std::printf("%s = %.4g # %s\n", key, value, what); }

template <int K> void both(const char* name, int each, bool whole)
{
    char key[64];
    std::snprintf(key, 64, "latency_%s", name);
    print(key, run<K, 1>(32) / each, "cycles, one warp, dependent");
    std::snprintf(key, 64, "cycles_%s", name);
    print(key, run<K, 4>(1024) / each / (whole ? 32 : 8), whole ? "cycles of the multiprocessor" : "cycles of the scheduler");
}

// Follows a chain of addresses with loads from L2, with atomics, with stores and fences, or with
// loads from L1.
template <int What> __global__ void chase(u64* cycles, u32* chain, int links)
{
    u32 at = 0;
    for (int i = 0; i < 512; i++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
    u64 from = clock64();
#pragma unroll 1
    for (int i = 0; i < links; i++) {
        if (What == 0) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
        if (What == 1) asm volatile("atom.global.or.b32 %0, [%1], 0;" : "=r"(at) : "l"(chain + at) : "memory");
        if (What == 2) { asm volatile("st.global.u32 [%0], %1;" :: "l"(chain + 1 + at), "r"(at) : "memory"); __threadfence(); }
        if (What == 3) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(chain + at % 256) : "memory");
    }
    u64 to = clock64();
    cycles[0] = to - from;
    cycles[1] = at;
}

template <int What> void chased(const char* key, u32* chain, const char* what)
{
    std::vector<double> all;
    for (int t = 0; t < Trials; t++) {
        chase<What><<<1, 1>>>(Cycles, chain, 512);
        CHECK(cudaDeviceSynchronize());
        u64 cycles;
        CHECK(cudaMemcpy(&cycles, Cycles, 8, cudaMemcpyDeviceToHost));
        all.push_back(cycles / 512.0);
    }
    print(key, median(all), what);
}

__global__ void spin(u64 cycles) { u64 from = clock64(); while (clock64() - from < cycles) {} }
__global__ void empty() {}
__global__ void copy(const u32* in, u32* out) { out[threadIdx.x] = in[threadIdx.x]; }

// Reads `bytes` with eight vectors in flight per thread.
__global__ void stream(const uint4* in, u64 vectors, u32* sink)
{
    uint4 sum = {};
    u64 stride = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 7 * stride < vectors; i += 8 * stride) {
        uint4 next[8];
        for (int k = 0; k < 8; k++) next[k] = __ldcg(in + i + k * stride);
        for (int k = 0; k < 8; k++) sum.x ^= next[k].x, sum.y ^= next[k].y, sum.z ^= next[k].z, sum.w ^= next[k].w;
    }
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345678) *sink = 1;
}

// Counts the cycles of 512 additions without a branch, in four chains, in the first run (when the code is in no cache)
// and in the second run.
__global__ void code(u64* cycles, float* sink, float y)
{
    float a = threadIdx.x, b = a, c = a, d = a;
#pragma unroll 1
    for (int turn = 0; turn < 2; turn++) {
        __syncthreads();
        u64 from = clock64();
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 128; k++) {
            asm volatile("add.f32 %0, %0, %1;" : "+f"(a) : "f"(y));
            asm volatile("add.f32 %0, %0, %1;" : "+f"(b) : "f"(y));
            asm volatile("add.f32 %0, %0, %1;" : "+f"(c) : "f"(y));
            asm volatile("add.f32 %0, %0, %1;" : "+f"(d) : "f"(y));
        }
        __syncthreads();
        u64 to = clock64();
        if (threadIdx.x == 0) cycles[turn] = to - from;
    }
    *sink = a + b + c + d;
}

__global__ void first(u64* cycles, const u32* in)
{
    u64 a = clock64();
    u32 x, y;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(in) : "memory");
    if (x) return; // All of the memory is zero. The test delays the clock read until the value has arrived.
    u64 b = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(y) : "l"(in + 64) : "memory");
    if (y) return;
    u64 c = clock64();
    cycles[0] = b - a;
    cycles[1] = c - b;
}

// Each warp adds to one address `each` times, with one lane or with all lanes.
template <int Lanes> __global__ void same(u32* at, int each)
{
    if (threadIdx.x % 32 >= Lanes) return;
#pragma unroll 1
    for (int i = 0; i < each; i++) asm volatile("red.global.add.u32 [%0], 1;" :: "l"(at) : "memory");
}

uint4* Big; // Read between trials, to evict all other data from L2.
const u64 BigBytes = 4ull << 30;
void flush() { stream<<<Sms * 4, 256>>>(Big + BigBytes / 32, BigBytes / 64, Sink); }

// Returns the time of `work` in microseconds; all of the work is queued before it begins.
template <class Work> double gated(Work work, bool cold = false)
{
    static cudaEvent_t from, to;
    if (!from) { CHECK(cudaEventCreate(&from)); CHECK(cudaEventCreate(&to)); }
    std::vector<double> all;
    for (int t = 0; t < Trials + 2; t++) {
        if (cold) flush();
        spin<<<1, 1>>>(400000);
        CHECK(cudaEventRecord(from));
        work();
        CHECK(cudaEventRecord(to));
        CHECK(cudaDeviceSynchronize());
        float ms;
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (t > 1) all.push_back(1000.0 * ms);
    }
    return median(all);
}

int main()
{
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    int mhz, memory;
    Sms = gpu.multiProcessorCount;
    CHECK(cudaDeviceGetAttribute(&mhz, cudaDevAttrClockRate, 0));
    CHECK(cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, 0));
    CHECK(cudaMalloc(&Cycles, 64));
    CHECK(cudaMalloc(&Sink, 4096));
    CHECK(cudaMalloc(&Big, BigBytes));
    CHECK(cudaMemset(Big, 0, BigBytes));
    u32* chain;
    const u32 words = 1 << 20;
    std::vector<u32> links(words);
    for (u32 i = 0; i < words; i += 32) links[i] = (i + 32 * 4099) % words; // Far apart, in four megabytes.
    CHECK(cudaMalloc(&chain, words * 4));
    CHECK(cudaMemcpy(chain, links.data(), words * 4, cudaMemcpyHostToDevice));
    spin<<<1, 1>>>(200000000);
    CHECK(cudaDeviceSynchronize());

    std::printf("name = \"%s\"\n", gpu.name);
    print("sms", Sms, "multiprocessors");
    print("capability", gpu.major * 10 + gpu.minor, "compute capability, times ten");
    print("sm_threads", gpu.maxThreadsPerMultiProcessor, "resident threads of a multiprocessor");
    print("sm_blocks", gpu.maxBlocksPerMultiProcessor, "resident blocks of a multiprocessor");
    print("sm_registers", gpu.regsPerMultiprocessor, "registers of a multiprocessor");
    print("sm_shared", gpu.sharedMemPerMultiprocessor, "bytes of shared memory of a multiprocessor");
    print("block_shared", gpu.sharedMemPerBlockOptin, "bytes of shared memory of a block, at most");
    print("mhz", mhz / 1000, "clock of a multiprocessor");
    print("bus_gb_per_s", 2.0 * memory * gpu.memoryBusWidth / 8 / 1e6, "peak of the memory bus");
    both<Int>("int", 2, false);
    both<Mad>("mad", 1, false);
    both<Float>("float", 1, false);
    both<Wide>("wide", 2, false);
    both<Double>("double", 1, false);
    both<Remainder>("remainder", 1, false);
    both<Special>("special", 1, false);
    both<Shuffle>("shuffle", 1, true);
    both<Redux>("redux", 1, true);
    both<Load>("shared", 1, true);
    both<Load16>("shared_16", 1, true);
    both<Store>("shared_store", 1, true);
    both<Conflict2>("conflict_2", 1, true);
    both<Conflict32>("conflict_32", 1, true);
    print("latency_warp_barrier", run<WarpBarrier, 1>(32), "cycles, one warp");
    for (int threads : {32, 64, 128, 256, 512, 1024}) {
        char key[64];
        std::snprintf(key, 64, "barrier_%d", threads);
        print(key, run<Barrier, 1>(threads), "cycles from barrier to barrier, threads in the block");
    }
    chased<3>("latency_l1", chain, "cycles");
    chased<0>("latency_l2", chain, "cycles");
    chased<1>("latency_atomic", chain, "cycles");
    chased<2>("latency_fence", chain, "cycles of a store and a fence");

    // There are eight blocks of eight warps per multiprocessor; each difference is the time of 64 additions per warp.
    double additions = Sms * 64 * 64.0;
    double one = gated([&] { same<1><<<Sms * 8, 256>>>(Sink, 96); }) - gated([&] { same<1><<<Sms * 8, 256>>>(Sink, 32); });
    double all = gated([&] { same<32><<<Sms * 8, 256>>>(Sink, 96); }) - gated([&] { same<32><<<Sms * 8, 256>>>(Sink, 32); });
    print("cycles_same", one / additions * mhz / 1000, "cycles between two atomics on one address, one lane of each warp");
    print("cycles_same_32", all / additions * mhz / 1000, "the same, for warps of 32 lanes");

    for (int cold = 0; cold < 2; cold++) {
        std::vector<double> fetch, again, firsts, seconds;
        for (int t = 0; t < Trials; t++) {
            if (cold) flush();
            code<<<1, 32>>>(Cycles, (float*)Sink, 1.5f);
            CHECK(cudaDeviceSynchronize());
            u64 c[2];
            CHECK(cudaMemcpy(c, Cycles, 16, cudaMemcpyDeviceToHost));
            fetch.push_back(((double)c[0] - c[1]) / (512 * 16 / 128)), again.push_back(c[1] / (512.0 * 16 / 128));
            if (cold) flush();
            first<<<1, 1>>>(Cycles, (u32*)Big + 4096 * t);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(c, Cycles, 16, cudaMemcpyDeviceToHost));
            firsts.push_back(c[0]);
            seconds.push_back(c[1]);
        }
        if (!cold) print("fetch_first", fetch[0], "the same in the first launch of the kernel");
        print(cold ? "fetch_cold" : "fetch_warm", median(fetch), "more cycles for each 128 bytes of code the first time than the second time");
        print(cold ? "fetched_cold" : "fetched_warm", median(again), "cycles for each 128 bytes of code the second time");
        print(cold ? "first_load_cold" : "first_load_warm", median(firsts), "cycles of the first load of a kernel");
        print(cold ? "second_load_cold" : "second_load_warm", median(seconds), "cycles of the load after it");
    }

    for (int k = 1; k <= 4; k++) {
        char key[64];
        std::snprintf(key, 64, "launches_%d", k);
        print(key, gated([&] { for (int i = 0; i < k; i++) empty<<<1, 32>>>(); }), "us, empty kernels one after another");
        std::snprintf(key, 64, "copies_%d", k);
        print(key, gated([&] { for (int i = 0; i < k; i++) copy<<<1, 32>>>((u32*)Cycles, Sink); }), "us, kernels of one load and one store");
    }
    for (int threads : {64, 256, 512, 1024}) {
        char key[64];
        double grids[2] = {gated([&] { empty<<<Sms * 64, threads>>>(); }), gated([&] { empty<<<Sms * 1088, threads>>>(); })};
        std::snprintf(key, 64, "block_%d", threads);
        print(key, (grids[1] - grids[0]) / 1024 * mhz / 1000, "cycles of a multiprocessor per empty block");
        int blocks = gpu.maxThreadsPerMultiProcessor / threads;
        double waves[2] = {gated([&] { spin<<<Sms * blocks * 4, threads>>>(8000); }), gated([&] { spin<<<Sms * blocks * 20, threads>>>(8000); })};
        std::snprintf(key, 64, "replace_%d", threads);
        print(key, (waves[1] - waves[0]) / 16 * mhz / 1000 - 8000, "cycles from the end of a block to its successor's start");
        std::snprintf(key, 64, "wave_%d", threads);
        print(key, gated([&] { spin<<<Sms * blocks, threads>>>(8000); }) - gated([&] { spin<<<1, 32>>>(8000); }), "us more for a wave of full multiprocessors than for one block");
    }
    for (int blocks : {1, Sms}) {
        char key[64];
        // The same blocks read the data repeatedly.
        auto in = [&](const uint4* at, u64 bytes, int times) { return gated([&] { for (int i = 0; i < times; i++) stream<<<blocks, 1024>>>(at, bytes / 16, Sink); }); };
        u64 small = blocks == 1 ? 2 << 20 : Sms * 1024 * 128;
        double l2 = small / (in(Big, small, 2) - in(Big, small, 1)) / 1000;
        std::snprintf(key, 64, "l2_gb_per_s_%d", blocks);
        print(key, l2, "GB/s from L2, number of blocks of 1024 threads");
        u64 large = blocks == 1 ? 64ull << 20 : BigBytes / 4;
        double a = gated([&] { stream<<<blocks, 1024>>>(Big, large / 16, Sink); }, true);
        double b = gated([&] { stream<<<blocks, 1024>>>(Big, large / 8, Sink); }, true);
        std::snprintf(key, 64, "dram_gb_per_s_%d", blocks);
        print(key, large / (b - a) / 1000, "GB/s from memory, number of blocks of 1024 threads");
    }
    double a = gated([&] { stream<<<Sms * 2, 1024>>>(Big, BigBytes / 64, Sink); }, true);
    double b = gated([&] { stream<<<Sms * 2, 1024>>>(Big, BigBytes / 32, Sink); }, true);
    print("dram_gb_per_s", BigBytes / 4.0 / (b - a) / 1000, "GB/s from memory, full multiprocessors");
    return 0;
}
