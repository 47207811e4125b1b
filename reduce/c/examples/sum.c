/* Sums a million floats on the host and, if there is a GPU, on the device. Both sums must have the same bits. */
#include <cuda_runtime_api.h>
#include <samebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return EXIT_FAILURE;
}

int main(void)
{
    const uint64_t n = 1 << 20;
    float *values = malloc(n * sizeof *values), on_host = 0, on_device = 0, *device = NULL;
    if (!values) return failed("malloc", "no memory");
    for (uint64_t i = 0; i < n; i++) values[i] = (float)(i % 7) * 0.1f;

    if (samebits_host_sum(SAMEBITS_F32, values, n, &on_host) != SAMEBITS_OK)
        return failed("samebits_host_sum", samebits_last_error());
    printf("the sum of %llu floats is %.9g on the host\n", (unsigned long long)n, on_host);

    double norm = 0;
    if (samebits_host_reduce(SAMEBITS_NORM + SAMEBITS_WIDE, SAMEBITS_F32, values, n, &norm) != SAMEBITS_OK)
        return failed("samebits_host_reduce", samebits_last_error());
    printf("their norm, added in double, is %.17g on the host\n", norm);

    cudaError_t error = cudaMalloc((void **)&device, n * sizeof *values);
    if (error != cudaSuccess) {
        printf("no device: %s\n", cudaGetErrorString(error));
        free(values);
        return EXIT_SUCCESS;
    }
    error = cudaMemcpy(device, values, n * sizeof *values, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return failed("cudaMemcpy", cudaGetErrorString(error));
    if (samebits_sum(SAMEBITS_F32, device, n, &on_device, NULL) != SAMEBITS_OK)
        return failed("samebits_sum", samebits_last_error());
    printf("the sum of %llu floats is %.9g on the device\n", (unsigned long long)n, on_device);

    /* The result of a reduction that does not wait stays on the device. */
    double *left = NULL, norm_there = 0;
    error = cudaMalloc((void **)&left, sizeof *left);
    if (error != cudaSuccess) return failed("cudaMalloc", cudaGetErrorString(error));
    if (samebits_reduce_into(SAMEBITS_NORM + SAMEBITS_WIDE, SAMEBITS_F32, device, n, left, NULL) != SAMEBITS_OK)
        return failed("samebits_reduce_into", samebits_last_error());
    error = cudaMemcpy(&norm_there, left, sizeof norm_there, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) return failed("cudaMemcpy", cudaGetErrorString(error));
    if (memcmp(&norm, &norm_there, sizeof norm)) return failed("the norm", "other bits on the device");
    cudaFree(left);

    samebits_close();
    cudaFree(device);
    cudaDeviceReset();
    free(values);
    return memcmp(&on_host, &on_device, sizeof on_host) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
