// Levels: a register holds 1.5 × 2^k plus a sum, so its last bit is always worth 2^(k - 52). The
// bits that an addition rounds off go to the next level, 40 bits below. The bits below three levels
// go to digits in shared memory.
struct Place {
    enum : u32 { Bins = 66, Words = Bins * 4 * 32 };
    enum : int { Lanes = 2, Levels = 3, Apart = 40, Room = 13, Margin = 25, First = -800, Largest = 1000 };

    double sums[Lanes][Levels], start[Levels];
    u32 limit; // The upper word of 2^e, the bound on the elements.
    u32 other, seen;
    u32* cells;

    __device__ Place(u32* words) : other(0), seen(0), cells(words)
    {
        for (u32 w = threadIdx.x; w < Words; w += THREADS) words[w] = 0;
        for (int l = 0; l < Levels; l++) start[l] = 0;
        begin(First);
        __syncthreads(); // The words are zero.
    }

    __device__ static Vector none()
    {
        Vector vector;
        for (int e = 0; e < Width; e++) vector.pair[e] = 1ull << 63;
        return vector;
    }

    // Empties the registers, and makes room for elements below 2^e. A register can add 2^12 of them: their sum is
    // below 2^(e + 12) = 2^(k - 1), so the register stays between 2^k and 2^(k + 1). One addition rounds off at
    // most 2^(k - 53), and 2^12 additions at most 2^(k - 41): the next level, whose k is 40 less, can add as many.
    __device__ __forceinline__ void begin(int e)
    {
        #pragma unroll
        for (int l = 0; l < Levels; l++) {
            #pragma unroll
            for (int i = 0; i < Lanes; i++) if (start[l] != 0) bin(sums[i][l] - start[l]);
            start[l] = __hiloint2double((1023 + e + Room - Apart * l) << 20 | 1 << 19, 0);
            #pragma unroll
            for (int i = 0; i < Lanes; i++) sums[i][l] = start[l];
        }
        limit = (u32)(1023 + e) << 20;
    }

    __device__ __forceinline__ void bin(double x) { seen |= binned(cells, x); }

    // Adds to the digits of positive or of negative numbers, which are words of 32 bits with their
    // carries, and returns flags. Each lane has its own column, which all warps share. This is a function
    // without `this`: a call that could write to members would keep the registers in local memory.
    __device__ __noinline__ static u32 binned(u32* cells, double x)
    {
        u64 bits = __double_as_longlong(x);
        u32 exponent = bits >> 52 & 2047, place = exponent - (exponent > 0);
        if (exponent == 2047) return bits << 12 != 0 ? Nan : bits >> 63 ? Below : Above;
        u64 significand = (bits & ((1ull << 52) - 1)) | (u64)(exponent > 0) << 52;
        u64 low = significand << place % 32, high = significand >> 1 >> (63 - place % 32);
        u32 digit[3] = {(u32)low, (u32)(low >> 32), (u32)high};
        u32* cell = cells + (place / 32 * 4 + (bits >> 63) * 2) * 32 + threadIdx.x % 32;
        for (int k = 0; k < 3; k++, cell += 4 * 32)
            if (digit[k] > 0 && atomicAdd(cell, digit[k]) > ~digit[k]) atomicAdd(cell + 32, 1);
        return 0;
    }

    __device__ void add(double x)
    {
        other |= __double2hiint(x) ^ 0x80000000 | __double2loint(x);
        bin(x);
    }

    __device__ void add(const Vector& vector) { add(vector.at[0], vector.at[1]); }

    __device__ void add(double a, double b)
    {
        u32 most = 0;
        double rest[Lanes], next[Lanes][Levels];
        bool exact = true;
        for (int i = 0; i < Lanes; i++) {
            double x = i == 0 ? a : b;
            u32 upper = __double2hiint(x);
            most = max(most, upper & 0x7fffffff);
            other |= upper ^ 0x80000000 | __double2loint(x);
            for (int l = 0; l < Levels; l++) {
                next[i][l] = sums[i][l] + x;
                x -= next[i][l] - sums[i][l];
            }
            rest[i] = x;
            exact = exact && x == 0;
        }
        if (most < limit) {
            for (int i = 0; i < Lanes; i++)
                for (int l = 0; l < Levels; l++) sums[i][l] = next[i][l];
            if (exact) return;
        } else {
            int e = (int)(most >> 20) - 1023 + Margin;
            if (e < Largest) begin(e);
            rest[0] = a;
            rest[1] = b;
        }
        #pragma unroll 1
        for (int i = 0; i < Lanes; i++) {
            if (rest[0] != 0) bin(rest[0]);
            rest[0] = rest[1];
        }
    }

    // Empties the registers and the words into the block's digits.
    __device__ void empty(u64* digits, u32* flags)
    {
        begin(First);
        __syncthreads(); // All elements are in words.
        #pragma unroll 1
        for (u32 b = threadIdx.x / 32; b < Bins; b += THREADS / 32) {
            u32* cell = cells + b * 4 * 32 + threadIdx.x % 32;
            i64 sum = (u64)cell[32] << 32 | cell[0];
            sum -= (u64)cell[96] << 32 | cell[64];
            for (int k = 0; k < 4; k++) cell[32 * k] = 0;
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
            if (threadIdx.x % 32 == 0) deposit(digits, 32 * b, sum);
        }
        if (other != 0) seen |= Other;
        if (seen != 0) atomicOr(flags, seen);
        other = seen = 0;
        __syncthreads(); // All words are zero.
    }
};
