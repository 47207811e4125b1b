// The mean and the variance of rows. Each row is read once. A thread adds the differences from the row's first element,
// and their squares, as doubles, so that little precision is lost if the variance is small compared with the mean.
struct Moments { double sum, squares; };

__device__ double to_double(In element)
{
    double value;
    asm("TO_DOUBLE %0, %1;" : "=d"(value) : OPERANDS(element));
    return value;
}

__device__ Moments join(Moments a, Moments b) { return Moments{__dadd_rn(a.sum, b.sum), __dadd_rn(a.squares, b.squares)}; }

// Adds the vectors of thread `t` of `step` threads, with one pair of sums for each element of a vector. Lane 0 gets the
// warp's sums.
__device__ Moments moments_of(const In* row, u32 n, double first, u32 t, u32 step)
{
    Moments all[Width];
    for (u32 e = 0; e < Width; e++) all[e] = Moments{0, 0};
    const bool aligned = (u64)row % 16 == 0;
    #pragma unroll 1
    for (u32 w = t; w < vectors_of(n); w += ROWS * step) {
        Vector vectors[ROWS];
        gather(vectors, row, n, w, step, aligned);
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++)
            for (u32 e = 0; e < Width; e++) {
                if ((u64)(w + r * step) * Width + e >= n) continue;
                const double difference = __dsub_rn(to_double(vectors[r].at[e]), first);
                all[e] = join(all[e], Moments{difference, __dmul_rn(difference, difference)});
            }
    }
    for (u32 s = Width / 2; s > 0; s /= 2)
        for (u32 e = 0; e < s; e++) all[e] = join(all[e], all[e + s]);
    Moments value = all[0];
    for (u32 s = 16; s > 0; s /= 2)
        value = join(value, Moments{__shfl_down_sync(~0u, value.sum, s), __shfl_down_sync(~0u, value.squares, s)});
    return value;
}

// Stores the mean, and the variance, which is the sum of squared differences from the mean, divided by n - `less`.
__device__ void put(Moments all, double first, u32 n, u64 less, Acc* means, Acc* variances, u64 row)
{
    const double part = __ddiv_rn(all.sum, (double)n), rest = __dsub_rn(all.squares, __dmul_rn(all.sum, part));
    // Rounding may make `rest` negative. If it is NaN, the comparison is false, and it stays NaN.
    const double variance = __ddiv_rn(rest < 0 ? 0 : rest, less < n ? (double)(n - less) : 0);
    if (means) means[row] = from_double(__dadd_rn(first, part));
    if (variances) variances[row] = from_double(less < n ? variance : __dsub_rn(variance, variance));
}

// Returns the row's first element, from which the differences are computed, or 0 if this element is NaN or infinite.
// With an infinity, all differences would be NaN.
__device__ double first_of(const In* row, u32 n)
{
    const double first = n > 0 ? to_double(row[0]) : 0;
    return __dsub_rn(first, first) == 0 ? first : 0;
}
