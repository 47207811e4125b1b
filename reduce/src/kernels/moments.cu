// The mean and the variance of rows. Each row is read once. A thread adds the differences from the row's first element,
// and their squares, as doubles, so that little precision is lost if the variance is small compared with the mean.
struct Moments { double sum, squares; };

__device__ double to_double(In element)
{
    double value;
    asm("TO_DOUBLE %0, %1;" : "=d"(value) : OPERANDS(element));
    return value;
}

__device__ Moments join(Moments a, Moments b)
{
    return Moments{__dadd_rn(a.sum, b.sum), __dadd_rn(a.squares, b.squares)};
}

// Returns the value of a row's first element, from which the differences are computed, or 0 if this element is NaN or
// infinite. With an infinity, all differences would be NaN.
__device__ double finite(In head)
{
    const double first = to_double(head);
    return __dsub_rn(first, first) == 0 ? first : 0;
}

__device__ Moments halve(Moments (&all)[Width])
{
    for (u32 s = Width / 2; s > 0; s /= 2)
        for (u32 e = 0; e < s; e++) all[e] = join(all[e], all[e + s]);
    return all[0];
}

// Four vectors of a thread: `each` (4, 2 or 1) vectors of one row, of two rows or of four. A thread keeps a pair of sums
// for each element of a vector. The sums of the row of vector u are in values[u] if u is the last vector of its row.
// The first row is at `at`, and neighbouring rows are `apart` elements apart.
struct Round {
    const In* at;
    u64 apart;
    u32 rows, n, each;
    Vector heads[4];
    Moments values[4];

    __device__ u32 index(u32 u) const { return u >> each / 2; }
    __device__ bool ends(u32 u) const { return ((u + 1) & (each - 1)) == 0; }

    // Adds the vectors t, t + step, and so on. Only with four vectors of a row, there may be more than a round.
    __device__ void add(u32 t, u32 step)
    {
        const u32 whole = n / Width, count = vectors_of(n);
        Moments all[Width];
        for (u32 e = 0; e < Width; e++) all[e] = Moments{0, 0};
        // The loads of the rows' first elements are in flight at the same time as those of the vectors.
        for (u32 u = 0; u < 4; u++) {
            heads[u].at[0] = 0;
            load(heads[u], 0, at + index(u) * apart, index(u) < rows && n > 0);
            values[u] = Moments{0, 0};
        }
        #pragma unroll 1
        for (u32 w = t; w < count; w += 4 * step) {
            Vector vectors[4];
            #pragma unroll
            for (u32 u = 0; u < 4; u++) {
                const u32 v = w + (u & (each - 1)) * step;
                const In* place = at + index(u) * apart + (u64)v * Width;
                const bool wanted = v < count && index(u) < rows, aligned = (u64)place % 16 == 0 && v < whole;
                vectors[u].pair[0] = vectors[u].pair[1] = 0;
                load(vectors[u], place, wanted && aligned);
                if (wanted && !aligned) vectors[u] = some(place, v < whole ? Width : n % Width);
            }
            #pragma unroll
            for (u32 u = 0; u < 4; u++) {
                const u32 v = w + (u & (each - 1)) * step;
                if (u > 0 && ends(u - 1)) {
                    values[u - 1] = halve(all);
                    for (u32 e = 0; e < Width; e++) all[e] = Moments{0, 0};
                }
                if (v >= count || index(u) >= rows) continue;
                In head = heads[u].at[0];
                // Without this statement, the compiler would wait for the element before it loads the vectors.
                asm volatile("" : "+" OPERANDS (head));
                const double first = finite(head);
                // A missing element is replaced with one whose difference is 0.
                if (v == whole)
                    for (u32 e = 0; e < Width; e++)
                        if (e >= n % Width) vectors[u].at[e] = to_double(head) == first ? head : 0;
                for (u32 e = 0; e < Width; e++) {
                    const double difference = __dsub_rn(to_double(vectors[u].at[e]), first);
                    all[e].sum = __dadd_rn(all[e].sum, difference);
                    all[e].squares = __fma_rn(difference, difference, all[e].squares);
                }
            }
        }
        values[3] = halve(all);
    }

    // Adds the sums of groups of `lanes` lanes, a power of two. Every lane gets its group's sums.
    __device__ void exchange(u32 lanes)
    {
        #pragma unroll 1
        for (u32 s = lanes / 2; s > 0; s /= 2)
            #pragma unroll
            for (u32 u = 0; u < 4; u++) {
                if (!ends(u)) continue;
                const double sum = __shfl_xor_sync(~0u, values[u].sum, s);
                values[u] = join(values[u], Moments{sum, __shfl_xor_sync(~0u, values[u].squares, s)});
            }
    }
};

// Stores the mean, and the variance, which is the sum of squared differences from the mean, divided by n - `less`.
__device__ void put(Moments all, double first, u32 n, u64 less, Acc* means, Acc* variances, u64 row)
{
    const double part = __ddiv_rn(all.sum, (double)n), rest = __dsub_rn(all.squares, __dmul_rn(all.sum, part));
    // Rounding may make `rest` negative. If it is NaN, the comparison is false, and it stays NaN.
    const double variance = __ddiv_rn(rest < 0 ? 0 : rest, less < n ? (double)(n - less) : 0);
    if (means) means[row] = from_double(__dadd_rn(first, part));
    if (variances) variances[row] = from_double(less < n ? variance : __dsub_rn(variance, variance));
}
