/* Invalid calls return a code and set a message; none aborts the program. */
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

int main(void)
{
    double values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0, sums[2];
    char *odd = (char *)values + 1;

    expect(samebits_host_sum(SAMEBITS_F64, values, 8, &sum), SAMEBITS_OK, "");
    if (sum != 36 || *samebits_last_error()) wrong = 1;
    expect(samebits_host_sum(99, values, 8, &sum), SAMEBITS_INVALID, "99 is not a samebits_type");
    expect(samebits_host_sum(SAMEBITS_F64, NULL, 8, &sum), SAMEBITS_INVALID, "null pointer");
    expect(samebits_host_sum(SAMEBITS_F64, NULL, 0, &sum), SAMEBITS_OK, "");
    expect(samebits_host_min(SAMEBITS_F64, odd, 2, &sum), SAMEBITS_INVALID, "not a multiple of");
    expect(samebits_host_max(SAMEBITS_F64, values, 8, NULL), SAMEBITS_INVALID, "result is a null pointer");
    expect(samebits_host_sum(SAMEBITS_F64, values, UINT64_MAX, &sum), SAMEBITS_INVALID, "more than memory");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 2, 4, 3, sums), SAMEBITS_INVALID, "at least 4");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 0, 4, 0, sums), SAMEBITS_INVALID, "at least one row");
    expect(samebits_host_sum_rows(SAMEBITS_F64, values, 2, 4, 0, sums), SAMEBITS_OK, "");
    if (sums[0] != 10 || sums[1] != 26) wrong = 1;

    double large[3] = {1e300, 1, -1e300};
    int integers[1] = {1};
    expect(samebits_host_exact_sum(SAMEBITS_F64, large, 3, &sum), SAMEBITS_OK, "");
    if (sum != 1) wrong = 1;
    expect(samebits_host_exact_sum(SAMEBITS_I32, integers, 1, &sum), SAMEBITS_INVALID, "an exact sum of samebits_type 2");

    double dot = 0;
    expect(samebits_host_exact_dot(SAMEBITS_F64, large, large + 1, 2, &dot), SAMEBITS_OK, "");
    if (dot != 0) wrong = 1; /* 1e300 × 1 and 1 × -1e300 */
    expect(samebits_host_exact_dot(SAMEBITS_F64, large, NULL, 2, &dot), SAMEBITS_INVALID, "null pointer");
    expect(samebits_exact_dot(SAMEBITS_F64, large, large, 2, &dot, NULL), SAMEBITS_INVALID, "samebits_host_exact_dot");

    /* Parts of a sum, in any order, have the bits of the whole. */
    unsigned char one[SAMEBITS_ACCUMULATOR_F64], other[SAMEBITS_ACCUMULATOR_F64], before[SAMEBITS_ACCUMULATOR_F64];
    expect(samebits_accumulator_begin(SAMEBITS_F64, one), SAMEBITS_OK, "");
    expect(samebits_accumulator_begin(SAMEBITS_F64, other), SAMEBITS_OK, "");
    expect(samebits_accumulator_add(SAMEBITS_F64, one, large + 2, 1), SAMEBITS_OK, "");
    expect(samebits_accumulator_add(SAMEBITS_F64, other, large, 2), SAMEBITS_OK, "");
    expect(samebits_accumulator_merge(SAMEBITS_F64, one, other), SAMEBITS_OK, "");
    expect(samebits_accumulator_add_products(SAMEBITS_F64, one, values, values + 1, 1), SAMEBITS_OK, "");
    expect(samebits_accumulator_round(SAMEBITS_F64, one, &sum), SAMEBITS_OK, "");
    if (sum != 3) wrong = 1;
    memcpy(before, one, sizeof one);
    other[4] = 9;
    expect(samebits_accumulator_merge(SAMEBITS_F64, one, other), SAMEBITS_INVALID, "version 9");
    if (memcmp(before, one, sizeof one)) wrong = 1;
    expect(samebits_accumulator_round(SAMEBITS_F32, one, &sum), SAMEBITS_INVALID, "64 bits instead of 32");
    expect(samebits_accumulator_add(SAMEBITS_F64, NULL, large, 1), SAMEBITS_INVALID, "accumulator is a null pointer");

    /* Without a GPU, the message says that there is none; with one, the error is found before any launch. */
    samebits_status status = samebits_sum(SAMEBITS_F64, NULL, 8, &sum, NULL);
    if (status != SAMEBITS_INVALID && status != SAMEBITS_UNAVAILABLE && status != SAMEBITS_CUDA) wrong = 1;
    printf("samebits_sum of a null pointer: %s\n", samebits_last_error());
    status = samebits_sum_into(SAMEBITS_F64, values, 8, odd, NULL);
    if (status == SAMEBITS_OK) wrong = 1;
    printf("samebits_sum_into to an odd address: %s\n", samebits_last_error());
    samebits_close();
    puts(wrong ? "wrong" : "every error has the expected message");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
