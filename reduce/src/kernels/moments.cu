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
// infinite. The difference between an infinity and itself would be NaN.
__device__ double finite(In head)
{
    const double first = to_double(head);
    return __dsub_rn(first, first) == 0 ? first : 0;
}

// Adds vectors t, t + step, and so on of a row, with a pair of sums for each element of a vector. `head` becomes the
// row's first element.
__device__ Moments moments_of(const In* row, u32 n, u32 t, u32 step, In& head)
{
    const u32 whole = n / Width, count = vectors_of(n);
    Moments all[Width];
    for (u32 e = 0; e < Width; e++) all[e] = Moments{0, 0};
    // The load of the first element is in flight at the same time as those of the vectors.
    Vector begin;
    begin.at[0] = 0;
    load(begin, 0, row, n > 0);
    head = begin.at[0];
    #pragma unroll 1
    for (u32 w = t; w < count; w += ROWS * step) {
        Vector vectors[ROWS];
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u32 v = w + r * step;
            const In* place = row + (u64)v * Width;
            const bool aligned = (u64)place % 16 == 0 && v < whole;
            vectors[r].pair[0] = vectors[r].pair[1] = 0;
            load(vectors[r], place, aligned);
            if (!aligned && v < count) vectors[r] = some(place, v < whole ? Width : n % Width);
        }
        In same = head;
        // Without this statement, the compiler would wait for the first element before it loads the vectors.
        asm volatile("" : "+" OPERANDS (same));
        const double first = finite(same);
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u32 v = w + r * step;
            if (v >= count) continue;
            // A missing element is replaced with one whose difference is 0.
            if (v == whole)
                for (u32 e = 0; e < Width; e++)
                    if (e >= n % Width) vectors[r].at[e] = to_double(same) == first ? same : 0;
            for (u32 e = 0; e < Width; e++) {
                const double difference = __dsub_rn(to_double(vectors[r].at[e]), first);
                all[e].sum = __dadd_rn(all[e].sum, difference);
                all[e].squares = __fma_rn(difference, difference, all[e].squares);
            }
        }
    }
    for (u32 s = Width / 2; s > 0; s /= 2)
        for (u32 e = 0; e < s; e++) all[e] = join(all[e], all[e + s]);
    return all[0];
}

// Stores the mean, and the variance, which is the sum of squared differences from the mean, divided by n - `less`.
__device__ void put(Moments all, double first, u32 n, u64 less, Acc* means, Acc* variances, u64 row)
{
    const double part = __ddiv_rn(all.sum, (double)n), rest = __dsub_rn(all.squares, __dmul_rn(all.sum, part));
    // Rounding may make `rest` negative. If `rest` is NaN, the comparison is false, and the variance is NaN too.
    const double variance = __ddiv_rn(rest < 0 ? 0 : rest, less < n ? (double)(n - less) : 0);
    if (means) means[row] = from_double(__dadd_rn(first, part));
    if (variances) variances[row] = from_double(less < n ? variance : __dsub_rn(variance, variance));
}

// A group of `threads` threads (a power of two) adds each row.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* means, Acc* variances, u64 m, u32 n, u64 pitch, u64 less, u32 threads)
{
    // There are two sets of sums: while one thread of a group adds one set, the warps fill the other.
    __shared__ Moments warps[2][THREADS / 32];
    const u32 t = threadIdx.x & (threads - 1), groups = THREADS / threads, lanes = threads < 32 ? threads : 32;
    u32 set = 0;
    #pragma unroll 1
    for (u64 begin = (u64)blockIdx.x * groups; begin < m; begin += (u64)gridDim.x * groups, set ^= 1) {
        const u64 row = begin + threadIdx.x / threads;
        In head;
        Moments all = moments_of(in + row * pitch, row < m ? n : 0, t, threads, head);
        #pragma unroll 1
        for (u32 s = lanes / 2; s > 0; s /= 2)
            all = join(all, Moments{__shfl_xor_sync(~0u, all.sum, s), __shfl_xor_sync(~0u, all.squares, s)});
        if (threads > 32) {
            if (t % 32 == 0) warps[set][threadIdx.x / 32] = all;
            __syncthreads();
            if (t == 0)
                for (u32 w = 1; w < threads / 32; w++) all = join(all, warps[set][threadIdx.x / 32 + w]);
        }
        if (t == 0 && row < m) put(all, finite(head), n, less, means, variances, row);
    }
}
