// What does an out-of-bounds access to shared memory do? This is a standalone program, without code from this project.
//
//     nvcc -std=c++17 -O1 -arch=native shared_end.cu && ./a.out
//
// One block of 32 threads has 512 bytes of shared memory, static or dynamic, and lane 0 loads from or stores to a
// byte offset. An error ends the context, so each trial is a separate process: if the program is started without
// arguments, it starts itself once per trial.
#include <cstdio>
#include <cstdlib>
#include <string>

extern __shared__ unsigned char own[];

__global__ void dynamic_one(int offset, int store, int* out)
{
    own[threadIdx.x] = threadIdx.x;
    __syncwarp();
    volatile unsigned int* word = (volatile unsigned int*)(own + offset);
    if (threadIdx.x == 0) {
        if (store) *word = 7;
        else *out = *word;
    }
    __syncwarp();
    if (threadIdx.x == 1) out[1] = own[1];
}

__global__ void static_one(int offset, int store, int* out)
{
    __shared__ unsigned char fixed[512];
    fixed[threadIdx.x] = threadIdx.x;
    __syncwarp();
    volatile unsigned int* word = (volatile unsigned int*)(fixed + offset);
    if (threadIdx.x == 0) {
        if (store) *word = 7;
        else *out = *word;
    }
    __syncwarp();
    if (threadIdx.x == 1) out[1] = fixed[1];
}

int main(int count, char** words)
{
    if (count == 4) {
        int fixed = std::atoi(words[1]), store = std::atoi(words[2]), offset = std::atoi(words[3]);
        int* out;
        cudaMalloc(&out, 8);
        if (fixed) static_one<<<1, 32>>>(offset, store, out);
        else dynamic_one<<<1, 32, 512>>>(offset, store, out);
        cudaError_t error = cudaDeviceSynchronize();
        std::printf("%s,%s,%d,%d,%s\n", fixed ? "static" : "dynamic", store ? "store" : "load", offset, (int)error, cudaGetErrorName(error));
        return 0;
    }
    std::printf("memory,access,offset,error,name\n");
    std::fflush(stdout);
    const int offsets[] = {508, 512, 1020, 1024, 2048, 16384, 48 * 1024, 100 * 1024, 227 * 1024, 1 << 20};
    for (int fixed = 0; fixed < 2; fixed++)
        for (int store = 0; store < 2; store++)
            for (int offset : offsets) {
                std::string one = std::string("\"") + words[0] + "\" " + std::to_string(fixed) + " " + std::to_string(store) + " " + std::to_string(offset);
                if (std::system(one.c_str())) return 1;
            }
    return 0;
}
