// Bins: doubles in shared memory, one for each thread and each 16 exponents of a float. A bin adds 2^14
// floats without rounding: 24 bits for the significand, 15 for the exponents and 14 for the count make 53.
struct Place {
    // The two words of a double are apart, so that a warp's lanes use all 32 banks, whatever the exponents.
    u32 *low, *high;
    u32 other;

    // `Words` is the number of words of shared memory.
    enum : u32 { Bins = 16, Words = 2 * Bins * THREADS, Sign = Narrow ? 0x80008000 : 0x80000000 };

    __device__ Place(u32* words) : low(words + threadIdx.x), high(low + Bins * THREADS), other(0)
    {
        for (u32 b = 0; b < Bins; b++) low[b * THREADS] = high[b * THREADS] = 0;
    }

    // Returns a vector of -0, which changes nothing.
    __device__ static Vector none()
    {
        Vector vector;
        for (int w = 0; w < 4; w++) vector.word[w] = Sign;
        return vector;
    }

    __device__ void bin(float x)
    {
        u32 at = (__float_as_uint(x) >> 27 & 15) * THREADS;
        double sum = __hiloint2double(high[at], low[at]) + x;
        low[at] = __double2loint(sum);
        high[at] = __double2hiint(sum);
    }

    __device__ void add(In x)
    {
        other |= Narrow ? (u32)x ^ 0x8000 : __float_as_uint(widen(x)) ^ 0x80000000;
        bin(widen(x));
    }

    // Adds two halves as one float if their sum needs no rounding.
    __device__ void add(const Vector& vector)
    {
        for (int w = 0; w < 4; w++) {
            other |= vector.word[w] ^ Sign;
            if (!Narrow) {
                bin(__uint_as_float(vector.word[w]));
                continue;
            }
            float a = widen((In)vector.word[w]), b = widen((In)(vector.word[w] >> 16)), sum = a + b;
            bool exact = sum - a == b && sum - b == a;
            bin(exact ? sum : a);
            if (!exact) bin(b);
        }
    }

    // Empties the bins of all threads into the block's digits. A bin with an infinity or NaN sets a flag instead.
    __device__ void empty(u64* digits, u32* flags)
    {
        __syncthreads(); // All elements are in bins.
        u32 *lows = low - threadIdx.x, *highs = high - threadIdx.x, seen = 0;
        #pragma unroll 1
        for (u32 b = threadIdx.x / 32; b < Bins; b += THREADS / 32) {
            i64 sum = 0;
            for (u32 at = b * THREADS + threadIdx.x % 32; at < (b + 1) * THREADS; at += 32) {
                double value = __hiloint2double(highs[at], lows[at]);
                lows[at] = highs[at] = 0;
                // The value of bin b is a multiple of 2^(16 b - 150).
                double scaled = value * __hiloint2double((1023 + 150 - 16 * b) << 20, 0);
                if (fabs(scaled) <= 9007199254740992.0) sum += __double2ll_rn(scaled);
                else seen |= value > 0 ? Above : value < 0 ? Below : Nan;
            }
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
            if (threadIdx.x % 32 == 0) deposit(digits, 16 * b, sum);
        }
        if (other != 0) seen |= Other;
        other = 0;
        if (seen != 0) atomicOr(flags, seen);
        __syncthreads(); // All bins are empty.
    }
};
