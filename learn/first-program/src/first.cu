// The same program in CUDA C++: nvcc -O3 first.cu -o first && ./first
#include <cstdio>
#include <utility>
#include <vector>

#include "sum.cu"

#define CHECK(call)                                                            \
    if (cudaError_t error = (call); error != cudaSuccess) {                    \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));    \
        return 1;                                                              \
    }

int main()
{
    const unsigned int threads = 256;
    // 1. nvcc has compiled the kernel and put it into the program.
    // 2. Choose a device. Without a stream, calls use the default stream.
    CHECK(cudaSetDevice(0));
    // 3. Allocate device memory, and copy the input to it.
    std::vector<float> input(1 << 20);
    for (size_t i = 0; i < input.size(); ++i) input[i] = i % 10;
    unsigned long long n = input.size();
    float *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof(float)));
    CHECK(cudaMalloc(&to, (n + threads - 1) / threads * sizeof(float)));
    CHECK(cudaMemcpy(from, input.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    // 4. Launch until one value is left. Each launch reads the output of the previous one, so the
    // second launch overwrites the input.
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start));
    while (n > 1) {
        unsigned long long blocks = (n + threads - 1) / threads;
        reduce<<<blocks, threads, threads * sizeof(float)>>>(from, to, n);
        CHECK(cudaGetLastError());
        std::swap(from, to);
        n = blocks;
    }
    CHECK(cudaEventRecord(end));
    // 5. Copy the result back, which waits for the launches, and check it.
    float sum, expected = 0, ms;
    CHECK(cudaMemcpy(&sum, from, sizeof(float), cudaMemcpyDeviceToHost));
    for (float x : input) expected += x;
    CHECK(cudaEventElapsedTime(&ms, start, end));
    std::printf("sum %.0f, expected %.0f\n%.3f ms, the first time\n", sum, expected, ms);
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return sum == expected ? 0 : 1;
}
