// Computes the sum of each row with CUB, for rows of one size and for rows given by offsets, behind a C ABI; `ladder
// rows` loads this library at run time. `cargo x peers` compiles it.
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>
#include <type_traits>

namespace {

struct Call {
    long long m, n;            // the number of rows, and of elements in each row
    void* out;                 // a sum for each row, on the device
    void* scratch;             // null to query only the size
    size_t* scratch_bytes;
    cudaStream_t stream;
};

// Halves are added as floats, as in `reduce`.
struct Add {
    template <class A, class B>
    __device__ float operator()(A a, B b) const { return static_cast<float>(a) + static_cast<float>(b); }
};

struct Offset {
    long long n;
    __host__ __device__ long long operator()(long long row) const { return row * n; }
};

template <class T> inline constexpr bool half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <class T>
cudaError_t fixed(const T* in, const Call& c)
{
    using Reduce = cub::DeviceSegmentedReduce;
    if (c.n > 0x7fffffff) return cudaErrorNotSupported;
    const int n = static_cast<int>(c.n);
    if constexpr (half<T>)
        return Reduce::Reduce(c.scratch, *c.scratch_bytes, in, static_cast<float*>(c.out), c.m, n, Add{}, 0.0f,
                              c.stream);
    else
        return Reduce::Sum(c.scratch, *c.scratch_bytes, in, static_cast<T*>(c.out), c.m, n, c.stream);
}

template <class T>
cudaError_t offsets(const T* in, const Call& c)
{
    using Reduce = cub::DeviceSegmentedReduce;
    auto begin = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), Offset{c.n});
    if constexpr (half<T>)
        return Reduce::Reduce(c.scratch, *c.scratch_bytes, in, static_cast<float*>(c.out), c.m, begin, begin + 1,
                              Add{}, 0.0f, c.stream);
    else
        return Reduce::Sum(c.scratch, *c.scratch_bytes, in, static_cast<T*>(c.out), c.m, begin, begin + 1, c.stream);
}

template <class T>
int of_type(int peer, const void* input, const Call& c)
{
    const T* in = static_cast<const T*>(input);
    switch (peer) {
    case 0: return fixed(in, c);
    case 1: return offsets(in, c);
    }
    return cudaErrorNotSupported;
}

}  // namespace

// The layout version of the functions below. A program that expects another version refuses this library.
extern "C" int rows_abi() { return 1; }

extern "C" const char* rows_version()
{
    static char text[64];
    snprintf(text, sizeof text, "CCCL %d.%d.%d, nvcc %d.%d", CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION,
             CCCL_PATCH_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__);
    return text;
}

// Sums m contiguous rows of n elements. Peer 0 uses the API for rows of one size; peer 1 passes 64-bit offsets.
// The types are those in cub.cu: 0 float, 1 int, 2 double, 3 unsigned, 4 and 5 the 64-bit integers, 6 half,
// 7 bfloat16. Sums of halves are floats. Returns a cudaError_t.
extern "C" int rows_sum(int peer, int type, const void* in, unsigned long long m, unsigned long long n,
                        void* out, void* scratch, size_t* scratch_bytes, void* stream)
{
    Call call{static_cast<long long>(m), static_cast<long long>(n), out, scratch, scratch_bytes,
              static_cast<cudaStream_t>(stream)};
    switch (type) {
    case 0: return of_type<float>(peer, in, call);
    case 1: return of_type<int>(peer, in, call);
    case 2: return of_type<double>(peer, in, call);
    case 3: return of_type<unsigned>(peer, in, call);
    case 4: return of_type<long long>(peer, in, call);
    case 5: return of_type<unsigned long long>(peer, in, call);
    case 6: return of_type<__half>(peer, in, call);
    case 7: return of_type<__nv_bfloat16>(peer, in, call);
    }
    return cudaErrorInvalidValue;
}

extern "C" const char* rows_error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
