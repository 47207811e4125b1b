/* Checks that invalid calls return a status code and set a message, and that none aborts the program. */
#include <cuda_runtime_api.h>
#include <samebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong = 0;

static void expect(samebits_status status, samebits_status expected, const char *words)
{
    const char *said = samebits_last_error();
    if (status == expected && strstr(said, words)) return;
    fprintf(stderr, "%d and \"%s\", not %d and \"%s\"\n", status, said, expected, words);
    wrong = 1;
}

/* Makes invalid calls with device memory, each of which fails before a launch. */
static void on_a_device(void)
{
    float *device = NULL, sum = -1;
    cudaStream_t stream;
    cudaGraph_t graph;
    if (cudaMalloc((void **)&device, 64 * sizeof *device) != cudaSuccess) {
        puts("no device");
        return;
    }
    void *odd = (char *)device + 2;
    expect(samebits_sum(SAMEBITS_F32, NULL, 8, &sum, NULL), SAMEBITS_INVALID, "input is a null pointer, but 8 elements");
    expect(samebits_sum(SAMEBITS_F32, odd, 8, &sum, NULL), SAMEBITS_INVALID, "not a multiple of the 4 bytes");
    expect(samebits_sum(SAMEBITS_F32, device, UINT64_MAX, &sum, NULL), SAMEBITS_INVALID, "split the slice");
    expect(samebits_sum(SAMEBITS_F32, device, 8, NULL, NULL), SAMEBITS_INVALID, "result is a null pointer");
    expect(samebits_sum_into(SAMEBITS_F32, device, 8, NULL, NULL), SAMEBITS_INVALID, "output is a null pointer");
    expect(samebits_sum_into(SAMEBITS_F32, device, 8, odd, NULL), SAMEBITS_INVALID, "output begins at address");
    expect(samebits_sum_rows_into(SAMEBITS_F32, device, 2, 4, 3, device, NULL), SAMEBITS_INVALID, "at least 4");
    expect(samebits_sum_rows_into(SAMEBITS_F32, device, 2, 0, 0, device, NULL), SAMEBITS_INVALID, "2 rows of 0");
    expect(samebits_sum(SAMEBITS_F32, NULL, 0, &sum, NULL), SAMEBITS_OK, "");
    if (sum != 0) wrong = 1;
    /* During a capture there is no result to wait for. The failed call does not invalidate the capture. */
    if (cudaStreamCreate(&stream) || cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)) wrong = 1;
    expect(samebits_sum(SAMEBITS_F32, device, 8, &sum, stream), SAMEBITS_INVALID, "being captured");
    if (cudaStreamEndCapture(stream, &graph) || cudaGraphDestroy(graph) || cudaStreamDestroy(stream)) wrong = 1;
    samebits_close();
    cudaFree(device);
    cudaDeviceReset();
}

int main(void)
{
    double values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0, sums[2];
    char *odd = (char *)values + 1;

    expect(samebits_host_sum(SAMEBITS_F64, values, 8, &sum), SAMEBITS_OK, "");
    if (sum != 36 || *samebits_last_error()) wrong = 1;
    expect(samebits_host_sum(99, values, 8, &sum), SAMEBITS_INVALID, "99 is not a samebits_type");
    expect(samebits_host_sum(SAMEBITS_F64, NULL, 8, &sum), SAMEBITS_INVALID, "pass the address of host memory");
    expect(samebits_host_sum(SAMEBITS_F64, NULL, 0, &sum), SAMEBITS_OK, "");
    expect(samebits_host_min(SAMEBITS_F64, odd, 2, &sum), SAMEBITS_INVALID, "not a multiple of");
    expect(samebits_host_max(SAMEBITS_F64, values, 8, NULL), SAMEBITS_INVALID, "result is a null pointer");
    expect(samebits_host_sum(SAMEBITS_F64, values, UINT64_MAX, &sum), SAMEBITS_INVALID, "more than memory");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 2, 4, 3, sums), SAMEBITS_INVALID, "at least 4");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 0, 4, 0, sums), SAMEBITS_INVALID, "at least one row");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 2, 4, 0, sums), SAMEBITS_OK, "");
    if (sums[0] != 10 || sums[1] != 26) wrong = 1;

    uint64_t index = 9;
    double low = 0, high = 0;
    expect(samebits_host_find_rows(SAMEBITS_MAX, SAMEBITS_F64, values, 1, 8, 0, &sum, &index), SAMEBITS_OK, "");
    if (sum != 8 || index != 7) wrong = 1;
    expect(samebits_host_find_rows(SAMEBITS_MIN, SAMEBITS_F64, values, 1, 8, 0, NULL, &index), SAMEBITS_OK, "");
    if (index != 0) wrong = 1;
    expect(samebits_host_find_rows(SAMEBITS_MAX, SAMEBITS_F64, values, 1, 0, 0, NULL, &index), SAMEBITS_INVALID, "1 rows of 0");
    expect(samebits_host_find_rows(SAMEBITS_NORM, SAMEBITS_F64, values, 1, 8, 0, NULL, &index), SAMEBITS_INVALID, "result of norm");
    expect(samebits_host_find_rows(SAMEBITS_ANY, SAMEBITS_F64, values, 1, 8, 0, NULL, &index), SAMEBITS_INVALID, "66 is not an operation");
    expect(samebits_host_min_max_rows(SAMEBITS_F64, values, 1, 8, 0, &low, &high), SAMEBITS_OK, "");
    if (low != 1 || high != 8) wrong = 1;
    expect(samebits_host_dot(SAMEBITS_F64, values, values, 8, &sum), SAMEBITS_OK, "");
    if (sum != 204) wrong = 1;
    expect(samebits_host_dot(SAMEBITS_U8, values, values, 8, &sum), SAMEBITS_INVALID, "the elements are u8");
    expect(samebits_host_dot_wide(SAMEBITS_F64, values, values, 8, &sum), SAMEBITS_INVALID, "no wider type");

    uint64_t shape[3] = {2, 2, 2}, offsets[4] = {0, 3, 3, 8}, lengths[2] = {3, 5};
    const void *slices[2] = {values, values + 3};
    double axis[4] = {0};
    expect(samebits_host_reduce_axis(SAMEBITS_SUM, SAMEBITS_F64, values, shape, 3, 1, axis), SAMEBITS_OK, "");
    if (axis[0] != 4 || axis[1] != 6 || axis[3] != 14) wrong = 1;
    expect(samebits_host_reduce_axis(SAMEBITS_SUM, SAMEBITS_F64, values, shape, 3, 3, axis), SAMEBITS_INVALID, "no axis 3");
    expect(samebits_host_reduce_list(SAMEBITS_SUM, SAMEBITS_F64, slices, lengths, 2, axis, &sum), SAMEBITS_OK, "");
    if (axis[0] != 6 || axis[1] != 30 || sum != 36) wrong = 1;
    expect(samebits_host_reduce_list(SAMEBITS_SUM, SAMEBITS_F64, slices, lengths, 0, axis, &sum), SAMEBITS_INVALID, "no slices");
    expect(samebits_host_reduce_ragged(SAMEBITS_SUM, SAMEBITS_F64, values, 8, offsets, 3, axis), SAMEBITS_OK, "");
    if (axis[0] != 6 || axis[1] != 0 || axis[2] != 30) wrong = 1;
    expect(samebits_host_moments_rows(SAMEBITS_F64, values, 2, 4, 0, 0, axis, axis + 2), SAMEBITS_OK, "");
    if (axis[0] != 2.5 || axis[1] != 6.5 || axis[2] != 1.25) wrong = 1;
    expect(samebits_host_moments_rows(SAMEBITS_I64, values, 2, 4, 0, 0, axis, axis + 2), SAMEBITS_INVALID, "only for floats");
    expect(samebits_host_log_sum_exp_rows(SAMEBITS_F64, values, 2, 4, 0, axis), SAMEBITS_OK, "");
    if (!(axis[0] > 4.44 && axis[0] < 4.45)) wrong = 1; /* 4 + log(1 + 1/e + 1/e^2 + 1/e^3) */
    expect(samebits_host_log_sum_exp_rows(SAMEBITS_I64, values, 2, 4, 0, axis), SAMEBITS_INVALID, "only for floats");
    expect(samebits_host_log_sum_exp_rows(SAMEBITS_F64, values, 2, 0, 0, axis), SAMEBITS_INVALID, "2 rows of 0");
    offsets[3] = 9;
    expect(samebits_host_reduce_ragged(SAMEBITS_SUM, SAMEBITS_F64, values, 8, offsets, 3, axis), SAMEBITS_INVALID, "row 2 has offsets 3 to 9");

    double large[3] = {1e300, 1, -1e300};
    int integers[1] = {1};
    expect(samebits_host_exact_sum(SAMEBITS_F64, large, 3, &sum), SAMEBITS_OK, "");
    if (sum != 1) wrong = 1;
    expect(samebits_host_exact_sum(SAMEBITS_I32, integers, 1, &sum), SAMEBITS_INVALID, "there are no exact sums of samebits_type 2");

    double dot = 0;
    expect(samebits_host_exact_dot(SAMEBITS_F64, large, large + 1, 2, &dot), SAMEBITS_OK, "");
    if (dot != 0) wrong = 1; /* 1e300 × 1 and 1 × -1e300 */
    expect(samebits_host_exact_dot(SAMEBITS_F64, large, NULL, 2, &dot), SAMEBITS_INVALID, "null pointer");
    expect(samebits_exact_dot(SAMEBITS_I32, integers, integers, 1, &dot, NULL), SAMEBITS_INVALID, "there are no exact sums of samebits_type 2");
    double sides[2] = {0x3p700, 0x4p700}, norm = 0;
    expect(samebits_host_exact_norm(SAMEBITS_F64, sides, 2, &norm), SAMEBITS_OK, "");
    if (norm != 0x5p700) wrong = 1; /* The squares would overflow. */
    expect(samebits_exact_norm(SAMEBITS_F64, sides, 2, NULL, NULL), SAMEBITS_INVALID, "result is a null pointer");

    /* Parts of a sum, merged in any order, give the bits of the whole sum. */
    unsigned char one[SAMEBITS_ACCUMULATOR_F64], other[SAMEBITS_ACCUMULATOR_F64], before[SAMEBITS_ACCUMULATOR_F64];
    expect(samebits_accumulator_begin(SAMEBITS_F64, one), SAMEBITS_OK, "");
    expect(samebits_accumulator_begin(SAMEBITS_F64, other), SAMEBITS_OK, "");
    expect(samebits_accumulator_add(SAMEBITS_F64, one, large + 2, 1), SAMEBITS_OK, "");
    expect(samebits_accumulator_add(SAMEBITS_F64, other, large, 2), SAMEBITS_OK, "");
    expect(samebits_accumulator_merge(SAMEBITS_F64, one, other), SAMEBITS_OK, "");
    expect(samebits_accumulator_add_products(SAMEBITS_F64, one, values, values + 1, 1), SAMEBITS_OK, "");
    expect(samebits_accumulator_round(SAMEBITS_F64, one, &sum), SAMEBITS_OK, "");
    if (sum != 3) wrong = 1;
    expect(samebits_accumulator_round_sqrt(SAMEBITS_F64, one, &norm), SAMEBITS_OK, "");
    if (norm * norm > 3.001 || norm * norm < 2.999) wrong = 1;
    memcpy(before, one, sizeof one);
    other[4] = 9;
    expect(samebits_accumulator_merge(SAMEBITS_F64, one, other), SAMEBITS_INVALID, "version 9");
    if (memcmp(before, one, sizeof one)) wrong = 1;
    expect(samebits_accumulator_round(SAMEBITS_F32, one, &sum), SAMEBITS_INVALID, "64 bits instead of 32");
    expect(samebits_accumulator_add(SAMEBITS_F64, NULL, large, 1), SAMEBITS_INVALID, "accumulator is a null pointer");
    expect(samebits_accumulator_add_device(SAMEBITS_F64, NULL, large, 1, NULL), SAMEBITS_INVALID, "accumulator is a null pointer");

    /* No context exists yet, so the call reports either this or that there is no GPU. */
    samebits_status status = samebits_sum(SAMEBITS_F64, NULL, 8, &sum, NULL);
    if (status != SAMEBITS_UNAVAILABLE && status != SAMEBITS_CUDA) wrong = 1;
    printf("samebits_sum without a context: %s\n", samebits_last_error());
    on_a_device();
    samebits_close();
    puts(wrong ? "wrong" : "every error has the expected message");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
