// Halves need no columns: a half is a multiple of 2^-24 below 2^16, so a double holds the sum of 2^13 of them without
// rounding. A product is a multiple of 2^-48 below 2^32. The first register holds 1.5 × 2^45 plus a sum, so its last
// bit is worth 2^-7. The rounding error of an addition is at most 2^-8, and a second register adds 2^13 of these errors
// without rounding.
struct Place {
#if defined(PRODUCTS)
    enum : int { Parts = 2, Scale = 7 };
#else
    enum : int { Parts = 1, Scale = 24 };
#endif
    enum : int { Lanes = 2, Warps = THREADS / 32 };
    enum : u32 { Words = 1, Sign = 0x80008000 };
    double sums[Lanes][Parts];
    u32 other;

    __device__ static double begin(int part) { return Parts == 2 && part == 0 ? 1.5 * (1ull << 45) : 0; }

    __device__ void reset()
    {
        other = 0;
        for (int i = 0; i < Lanes; i++) for (int p = 0; p < Parts; p++) sums[i][p] = begin(p);
    }

    __device__ Place(u32*) { reset(); }

    // Infinities and NaN stay in the registers, so no element has to be read again.
    __device__ bool special() { return false; }
    __device__ void note(In) {}
    __device__ void note(In, In) {}

    __device__ void add(In x)
    {
        other |= x ^ 0x8000;
        sums[0][0] += widen(x);
    }

    __device__ void add(const Vector& vector)
    {
        for (int w = 0; w < 4; w++) {
            other |= vector.word[w] ^ Sign;
            sums[0][0] += widen((In)vector.word[w]);
            sums[1][0] += widen((In)(vector.word[w] >> 16));
        }
    }

    // The product has 22 bits and is exact as a float.
    __device__ void multiply(In a, In b, int lane = 0)
    {
        float x = widen(a) * widen(b);
        other |= __float_as_uint(x) ^ 0x80000000;
        double* sum = sums[lane];
        double next = sum[0] + x;
        sum[Parts - 1] += x - (next - sum[0]);
        sum[0] = next;
    }

    // Adds the registers of all threads to the block's digits, and clears the registers. An infinity or NaN sets a flag
    // instead. The integers of a block are at most 512 × 2^53.
    __device__ void empty(u64* digits, u32* flags)
    {
        __shared__ i64 warps[Parts][Warps];
        u32 seen = other != 0 ? Other : 0;
        i64 sum[Parts] = {};
        for (int i = 0; i < Lanes; i++) {
            double first = sums[i][0];
            bool finite = fabs(first) < 1e300;
            if (!finite) seen |= first > 0 ? Above : first < 0 ? Below : Nan;
            for (int p = 0; p < Parts; p++) {
                double unit = p == 0 ? 1ull << Scale : 1ull << 48;
                sum[p] += finite ? __double2ll_rn((sums[i][p] - begin(p)) * unit) : 0;
            }
        }
        reset();
        for (int p = 0; p < Parts; p++) {
            sum[p] = across(sum[p]);
            if (threadIdx.x % 32 == 0) warps[p][threadIdx.x / 32] = sum[p];
        }
        __syncthreads(); // All warps' sums are stored.
        if (seen != 0) atomicOr(flags, seen);
        if (threadIdx.x == 0) {
            for (int p = 0; p < Parts; p++) {
                i64 all = 0;
                for (int w = 0; w < Warps; w++) all += warps[p][w];
                deposit(digits, Unit - (p == 0 ? Scale : 48), all);
            }
        }
        __syncthreads(); // The warps' sums have been read.
    }
};
