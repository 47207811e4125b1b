// The log-sum-exp of each row: the logarithm of the sum of exp(x) over its elements x. Each row is read once.
// functions.rs has the same functions with the same operations for the host.
#if VALUE == 4
typedef float Real;
#else
typedef double Real;
#endif

// The largest element `top`, and the sum of exp(x - top) over the elements x.
struct Part { Real top; double sum; };

__device__ float minus(float a, float b) { return __fsub_rn(a, b); }
__device__ double minus(double a, double b) { return __dsub_rn(a, b); }
__device__ double bits(u64 bits) { return __longlong_as_double(bits); }
__device__ Real lowest() { return (Real)bits(0xfff0000000000000); }

// Returns the larger value. If one value is NaN, returns the other.
__device__ float most(float a, float b) { return fmaxf(a, b); }
__device__ double most(double a, double b) { return a > b ? a : b; }

// Returns exp(x) for x <= 0, or 0 if x is NaN or below the logarithm of the smallest normal number. With k = x /
// log(2), rounded to an integer, exp(x) is 2^k times a polynomial in x - k log(2). The low bits of `rounded` are the
// exponent of 2^k, or 0 if 2^k is not a normal number.
__device__ float exp_of(float x)
{
    const float at_least = most(x, -88.f), shift = 12583039.f;
    const float rounded = __fmaf_rn(at_least, 1.442695f, shift);
    const float rest = __fmaf_rn(__fsub_rn(rounded, shift), -0.6931472f, at_least);
    const float of[6] = {0.008368716f, 0.04166839f, 0.16666521f, 0.49999994f, 1, 1};
    float power = 0.0013814606f;
    for (u32 i = 0; i < 6; i++) power = __fmaf_rn(power, rest, of[i]);
    return __fmul_rn(power, __uint_as_float(__float_as_uint(rounded) << 23));
}

__device__ double exp_of(double x)
{
    const double at_least = most(x, -709.), shift = 6755399441056767.;
    const double rounded = __fma_rn(at_least, 1.4426950408889634, shift), k = __dsub_rn(rounded, shift);
    const double rest = __fma_rn(k, -7.440617110012397e-11, __fma_rn(k, -0.6931471804855391, at_least));
    const double of[11] = {2.7630244547968443e-07, 2.755758636284437e-06, 2.4801493108945924e-05, 0.00019841269506613567,
        0.0013888888943621228, 0.008333333333494434, 0.04166666666653019, 0.16666666666666413, 0.5000000000000011, 1, 1};
    double power = 2.5000059258426878e-08;
    for (u32 i = 0; i < 11; i++) power = __fma_rn(power, rest, of[i]);
    return __dmul_rn(power, __hiloint2double(__double2loint(rounded) << 20, 0));
}

// Returns log(x) for x >= 1. With x = 2^k z and z from sqrt(1/2) to sqrt(2), log(z) = 2 atanh((z - 1) / (z + 1)).
__device__ double log_of(double x)
{
    const u64 all = __double_as_longlong(x), k = (all - 0x3fe6a09e667f3bcd) >> 52;
    const double z = bits(all - (k << 52)), s = __ddiv_rn(__dsub_rn(z, 1), __dadd_rn(z, 1)), square = __dmul_rn(s, s);
    const double of[6] = {0.1531402117019004, 0.18183565402874022, 0.22222198553931347, 0.2857142874255989,
        0.39999999999413977, 0.6666666666666734};
    double rest = 0.1479626111402704;
    for (u32 i = 0; i < 6; i++) rest = __fma_rn(rest, square, of[i]);
    return __fma_rn((double)k, 0.6931471805599453, __fma_rn(__dmul_rn(s, square), rest, __dadd_rn(s, s)));
}

__device__ Real widen(In element)
{
    Real value;
#if VALUE == 4
    asm("WIDEN %0, %1;" : "=f"(value) : OPERANDS(element));
#else
    asm("WIDEN %0, %1;" : "=d"(value) : OPERANDS(element));
#endif
    return value;
}

// Returns the largest value of each group of `lanes` lanes (a power of two) to all lanes of the group.
__device__ Real group_most(Real value, u32 lanes)
{
    #pragma unroll 1
    for (u32 s = lanes / 2; s > 0; s /= 2) value = most(value, __shfl_xor_sync(~0u, value, s));
    return value;
}

// Returns the sum of each group's values to all lanes of the group.
__device__ double group_sum(double value, u32 lanes)
{
    #pragma unroll 1
    for (u32 s = lanes / 2; s > 0; s /= 2) value = __dadd_rn(value, __shfl_xor_sync(~0u, value, s));
    return value;
}

// Widens vector `first` + `t` of a row, where `t` is one of `step` threads. Elements after the row's end become minus
// infinity, which changes no result.
__device__ void widen(Real (&x)[Width], const Vector& vector, u32 n, u32 first, u32 t, u32 step)
{
    for (u32 e = 0; e < Width; e++) x[e] = widen(vector.at[e]);
    if ((u64)(first + step) * Width <= n) return;
    const u64 begin = (u64)(first + t) * Width;
    const u32 rest = begin < n ? (u32)(n - begin) : 0;
    for (u32 e = 0; e < Width; e++)
        if (e >= rest) x[e] = lowest();
}

// Returns the `Part` for the vectors of a group of up to 32 lanes. Thread `t` of `step` threads reads ROWS vectors at a
// time, and the lanes of a group agree on the largest element so far.
__device__ Part part_of(const In* row, u32 n, u32 t, u32 step)
{
    Part all = {lowest(), 0};
    bool nan = false;
    const bool aligned = (u64)row % 16 == 0;
    const u32 count = vectors_of(n), lanes = step < 32 ? step : 32;
    #pragma unroll 1
    for (u32 begin = 0; begin < count; begin += ROWS * step) {
        Vector vectors[ROWS];
        gather(vectors, row, n, begin + t, step, aligned);
        Real top = all.top;
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            // No lane of the block has an r-th vector in this round.
            if (begin + r * step >= count) continue;
            Real x[Width];
            widen(x, vectors[r], n, begin + r * step, t, step);
            for (u32 e = 0; e < Width; e++) {
                top = most(top, x[e]);
                nan |= x[e] != x[e];
            }
        }
        top = group_most(top, lanes);
        // The sum is still 0 in the first round.
        if (begin > 0 && top > all.top) all.sum = __dmul_rn(all.sum, exp_of(__dsub_rn(all.top, top)));
        all.top = top;
        // The vectors are widened again, because keeping all their elements as reals would take too many registers.
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            if (begin + r * step >= count) continue;
            Real x[Width];
            double powers[Width];
            widen(x, vectors[r], n, begin + r * step, t, step);
            for (u32 e = 0; e < Width; e++) powers[e] = exp_of(minus(x[e], top));
            for (u32 s = Width / 2; s > 0; s /= 2)
                for (u32 e = 0; e < s; e++) powers[e] = __dadd_rn(powers[e], powers[e + s]);
            all.sum = __dadd_rn(all.sum, powers[0]);
        }
    }
    // From here on, a sum that is NaN marks a row that contains NaN.
    return Part{all.top, group_sum(nan ? bits(~0ull >> 1) : all.sum, lanes)};
}

// A group of `step` threads (a power of two) reads each row. If a group has several warps, its first warp combines
// their parts.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u32 n, u64 pitch, u32 step)
{
    // There are two sets of parts: while some warps combine one set, the rest fill the other.
    __shared__ Part warps[2][THREADS / 32];
    const u32 t = threadIdx.x & (step - 1), warp = threadIdx.x / 32, groups = THREADS / step;
    u32 set = 0;
    #pragma unroll 1
    for (u64 begin = (u64)blockIdx.x * groups; begin < m; begin += (u64)gridDim.x * groups, set ^= 1) {
        // All lanes exchange values, so groups without a row of their own read the last row.
        const u64 row = begin + threadIdx.x / step;
        Part all = part_of(in + (row < m ? row : m - 1) * pitch, n, t, step);
        if (step > 32) {
            if (t % 32 == 0) warps[set][warp] = all;
            __syncthreads();
            if (t >= 32) continue;
            all = t < step / 32 ? warps[set][warp + t] : Part{lowest(), 0};
            const Real top = group_most(all.top, 32);
            all.sum = group_sum(__dmul_rn(all.sum, exp_of(__dsub_rn(all.top, top))), 32);
            all.top = top;
        }
        if (t > 0 || row >= m) continue;
        // The difference is NaN if the largest element is infinite.
        const bool finite = __dsub_rn(all.top, all.top) == 0;
        const double result = finite ? __dadd_rn(all.top, log_of(all.sum)) : (double)all.top;
        out[row] = from_double(all.sum != all.sum ? all.sum : result);
    }
}
