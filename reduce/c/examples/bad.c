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

    /* Without a GPU, the message says that there is no GPU; with a GPU, the error is found before any launch. */
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
