// What does a barrier across the whole grid cost? This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O3 -arch=native grid_sync.cu && ./a.out
//
// The kernels only wait, either with grid.sync() from cooperative groups, in a cooperative launch, or with a
// hand-written barrier, which is an atomic counter that all blocks poll. A launch has 0, 1, 2, 4 or 8 barriers, so
// differences between times exclude the launch. The grid has four blocks of 256 threads per multiprocessor.
#include <cooperative_groups.h>

#include <algorithm>
#include <cstdio>
#include <vector>

const int Threads = 256, Runs = 501;

#define CHECK(call) \
    if (cudaError_t error = call) { \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
        return 1; \
    }

__global__ void by_groups(unsigned int*, int barriers)
{
    for (int i = 0; i < barriers; i++) cooperative_groups::this_grid().sync();
}

// The last block to arrive wraps the counter to 0 and starts the next round. All blocks poll the round number.
__global__ void by_hand(unsigned int* counter, int barriers)
{
    volatile unsigned int* round = counter + 1;
    for (int i = 0; i < barriers; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned int now = *round;
            __threadfence();
            if (atomicInc(counter, gridDim.x - 1) == gridDim.x - 1) atomicAdd(counter + 1, 1);
            else while (*round == now);
            __threadfence();
        }
        __syncthreads();
    }
}

int main()
{
    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    unsigned int* counter;
    CHECK(cudaMalloc(&counter, 8));
    CHECK(cudaMemset(counter, 0, 8));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::printf("# %s\nkind,blocks,barriers,q1_us,median_us,q3_us\n", gpu.name);
    for (int cooperative : {0, 1})
        for (int barriers : {0, 1, 2, 4, 8}) {
            int blocks = 4 * gpu.multiProcessorCount;
            void* args[] = {&counter, &barriers};
            void* kernel = cooperative ? (void*)by_groups : (void*)by_hand;
            std::vector<float> times;
            for (int run = 0; run < Runs; run++) {
                CHECK(cudaEventRecord(begin));
                // Both kernels are launched cooperatively, so that the launches cost the same.
                CHECK(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(Threads), args, 0, 0));
                CHECK(cudaEventRecord(end));
                CHECK(cudaEventSynchronize(end));
                float ms;
                CHECK(cudaEventElapsedTime(&ms, begin, end));
                times.push_back(1e3f * ms);
            }
            std::sort(times.begin(), times.end());
            std::printf("%s,%d,%d,%.2f,%.2f,%.2f\n", cooperative ? "grid.sync()" : "by hand", blocks, barriers,
                        times[Runs / 4], times[Runs / 2], times[3 * Runs / 4]);
        }
    return 0;
}
