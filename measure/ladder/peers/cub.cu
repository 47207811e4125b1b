// Computes the same sums with CUB and Thrust, behind a C ABI; `ladder measure` loads this library at run time. `cargo x
// peers` compiles it. This file contains no code from CUB, whose headers come with the toolkit or from PyPI.
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <cstdio>
#include <type_traits>

// CCCL before 3.2 has no environments, so only the default sum is available.
#if CCCL_VERSION >= 3002000
#define HAS_DETERMINISM 1
#include <cuda/execution>
#include <cuda/stream_ref>
#endif

namespace {

struct Call {
    unsigned long long n;      // elements
    void* out;                 // one element on the device
    void* host_out;            // one element on the host, for functions that return their sum there
    void* scratch;             // null to query only the size
    size_t* scratch_bytes;
    cudaStream_t stream;
};

// Halves are added as floats, as in `reduce`, because a sum of 2^20 ones in half precision would be 2048.
struct Add {
    template <class A, class B>
    __device__ float operator()(A a, B b) const { return static_cast<float>(a) + static_cast<float>(b); }
};

enum Operation { SUM, MIN, MAX };

template <class T>
cudaError_t cub_default(int operation, const T* in, const Call& c)
{
    auto out = static_cast<T*>(c.out);
    auto n = static_cast<long long>(c.n);
    switch (operation) {
    case SUM:
        if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>)
            return cub::DeviceReduce::Reduce(c.scratch, *c.scratch_bytes, in, static_cast<float*>(c.out),
                                             n, Add{}, 0.0f, c.stream);
        else
            return cub::DeviceReduce::Sum(c.scratch, *c.scratch_bytes, in, out, n, c.stream);
    case MIN: return cub::DeviceReduce::Min(c.scratch, *c.scratch_bytes, in, out, n, c.stream);
    case MAX: return cub::DeviceReduce::Max(c.scratch, *c.scratch_bytes, in, out, n, c.stream);
    }
    return cudaErrorNotSupported;
}

#if HAS_DETERMINISM
template <class T, class Determinism>
cudaError_t cub_with(const T* in, const Call& c, Determinism determinism)
{
    *c.scratch_bytes = 0;  // CUB allocates scratch memory from the stream's pool
    if (c.scratch == nullptr) return cudaSuccess;
    auto env = cuda::std::execution::env{cuda::stream_ref{c.stream}, cuda::execution::require(determinism)};
    return cub::DeviceReduce::Sum(in, static_cast<T*>(c.out), static_cast<long long>(c.n), env);
}

template <class T>
cudaError_t cub_atomic(const T* in, const Call& c)
{
    return cub_with(in, c, cuda::execution::determinism::not_guaranteed);
}

// This sum is wrong for floats in CCCL 3.5.0 once a thread adds 512 elements (2^30 on an H200). A thread renormalizes
// its accumulator after every 512 elements, and the block's reduction gets the accumulator plus any later elements of
// the thread. Two bins that are nearly full overflow their exponent when they are added. CUB's accumulator and both
// kernels, ported to a CPU, give the same wrong bits (552107264 for 2^30 elements drawn with the seed 42, in 9 blocks
// of 224 threads per SM), and the right sum if a renorm() follows the thread's loop.
template <class T>
cudaError_t cub_gpu_to_gpu(const T* in, const Call& c)
{
    return cub_with(in, c, cuda::execution::determinism::gpu_to_gpu);
}
#endif

template <class T>
cudaError_t thrust_reduce(const T* in, const Call& c)
{
    *c.scratch_bytes = 0;
    if (c.scratch == nullptr) return cudaSuccess;
    *static_cast<T*>(c.host_out) = thrust::reduce(thrust::cuda::par.on(c.stream), in, in + c.n);
    return cudaSuccess;
}

// The default call supports all types and operations; the other calls are measured only for sums.
template <class T>
int of_type(int peer, int operation, const void* input, const Call& c)
{
    const T* in = static_cast<const T*>(input);
    if (peer == 0) return cub_default(operation, in, c);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int> || std::is_same_v<T, double>) {
        if (operation != SUM) return cudaErrorNotSupported;
        switch (peer) {
#if HAS_DETERMINISM
        case 1: return cub_atomic(in, c);
        case 2: return cub_gpu_to_gpu(in, c);
#endif
        case 3: return thrust_reduce(in, c);
        }
    }
    return cudaErrorNotSupported;
}

}  // namespace

// The layout version of the functions below. A program that expects another version refuses this library.
extern "C" int peers_abi() { return 2; }

extern "C" const char* peers_version()
{
    static char text[64];
    snprintf(text, sizeof text, "CCCL %d.%d.%d, nvcc %d.%d", CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION,
             CCCL_PATCH_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__);
    return text;
}

// Returns the name of a sum, or null after the last sum.
extern "C" const char* peers_name(int peer)
{
    static const char* const names[] = {"cub", "cub-atomic", "cub-gpu-to-gpu", "thrust"};
    return peer >= 0 && peer < 4 ? names[peer] : nullptr;
}

// Returns whether the call returns only once the sum is on the host. Such a call must not be GPU-gated.
extern "C" int peers_waits(int peer) { return peer == 3; }

// Reduces n elements. The operation is 0 for sum, 1 for minimum, 2 for maximum. The type is 0 for float, 1 for int,
// 2 for double, 3 for unsigned, 4 and 5 for the 64-bit integers, 6 for half, 7 for bfloat16. Sums of halves are floats.
// Returns a cudaError_t.
extern "C" int peers_reduce(int peer, int operation, int type, const void* in, unsigned long long n,
                            void* out, void* host_out, void* scratch, size_t* scratch_bytes, void* stream)
{
    Call call{n, out, host_out, scratch, scratch_bytes, static_cast<cudaStream_t>(stream)};
    try {
        switch (type) {
        case 0: return of_type<float>(peer, operation, in, call);
        case 1: return of_type<int>(peer, operation, in, call);
        case 2: return of_type<double>(peer, operation, in, call);
        case 3: return of_type<unsigned>(peer, operation, in, call);
        case 4: return of_type<long long>(peer, operation, in, call);
        case 5: return of_type<unsigned long long>(peer, operation, in, call);
        case 6: return of_type<__half>(peer, operation, in, call);
        case 7: return of_type<__nv_bfloat16>(peer, operation, in, call);
        }
        return cudaErrorInvalidValue;
    } catch (...) {  // Thrust throws, but a C caller cannot catch exceptions
        cudaError_t error = cudaGetLastError();
        return error == cudaSuccess ? cudaErrorUnknown : error;
    }
}

extern "C" const char* peers_error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
