// Sums the rows of a matrix on a stream, and compares the bits of each sum with those of the sum on
// the host.
#include <cuda_runtime_api.h>
#include <samebits.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

static void check(cudaError_t error)
{
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

static void check(samebits_status status)
{
    if (status != SAMEBITS_OK) throw std::runtime_error(samebits_last_error());
}

struct CudaFree { void operator()(void* at) const { cudaFree(at); } };
template <class T> using Device = std::unique_ptr<T, CudaFree>;

template <class T> static Device<T> allocate(size_t n)
{
    void* at = nullptr;
    check(cudaMalloc(&at, n * sizeof(T)));
    return Device<T>(static_cast<T*>(at));
}

static void run(uint64_t rows, uint64_t elements)
{
    std::vector<double> values(rows * elements), expected(rows), sums(rows);
    for (size_t i = 0; i < values.size(); i++) values[i] = 1.0 / (i + 1);
    check(samebits_host_sum_rows(SAMEBITS_F64, values.data(), rows, elements, 0, expected.data()));

    cudaStream_t stream;
    check(cudaStreamCreate(&stream));
    auto input = allocate<double>(values.size());
    auto output = allocate<double>(rows);
    check(cudaMemcpyAsync(input.get(), values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice, stream));
    check(samebits_sum_rows_into(SAMEBITS_F64, input.get(), rows, elements, 0, output.get(), stream));
    check(cudaMemcpyAsync(sums.data(), output.get(), rows * sizeof(double), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    samebits_close();
    check(cudaStreamDestroy(stream));
    if (std::memcmp(sums.data(), expected.data(), rows * sizeof(double)) != 0)
        throw std::runtime_error("the bits on the device differ from those on the host: please report it");
    std::printf("%llu rows of %llu: the same bits as on the host\n", (unsigned long long)rows, (unsigned long long)elements);
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no device");
        return EXIT_SUCCESS;
    }
    try {
        run(1000, 300);
        run(32, 4096);
        run(3, 1 << 20);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
    cudaDeviceReset();
    return EXIT_SUCCESS;
}
