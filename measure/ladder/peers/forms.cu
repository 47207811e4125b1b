// Finds the indices of maxima and sums ragged rows with CUB, behind a C ABI. `forms.py` loads this library.
//
//     nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler -fPIC -I <cccl> -o libforms.so forms.cu
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_bf16.h>

#include <cstdio>

extern "C" const char* forms_version()
{
    static char text[64];
    snprintf(text, sizeof text, "CCCL %d.%d.%d, nvcc %d.%d", CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION,
             CCCL_PATCH_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__);
    return text;
}

// Finds the first of the largest elements. The type is given by its size in bytes: 4 for float, 2 for bfloat16, 1 for
// signed char. If `scratch` is null, the call only queries its size. Returns a cudaError_t.
extern "C" int forms_argmax(int size, const void* in, long long n, void* out, long long* index, void* scratch,
                            size_t* bytes, cudaStream_t stream)
{
    switch (size) {
    case 4: return cub::DeviceReduce::ArgMax(scratch, *bytes, (const float*)in, (float*)out, index, n, stream);
    case 2:
        return cub::DeviceReduce::ArgMax(scratch, *bytes, (const __nv_bfloat16*)in, (__nv_bfloat16*)out, index, n,
                                         stream);
    case 1:
        return cub::DeviceReduce::ArgMax(scratch, *bytes, (const signed char*)in, (signed char*)out, index, n, stream);
    }
    return cudaErrorInvalidValue;
}

// Sums floats from each offset to the next one.
extern "C" int forms_ragged(const float* in, const long long* offsets, long long rows, float* out, void* scratch,
                            size_t* bytes, cudaStream_t stream)
{
    return cub::DeviceSegmentedReduce::Sum(scratch, *bytes, in, out, rows, offsets, offsets + 1, stream);
}
