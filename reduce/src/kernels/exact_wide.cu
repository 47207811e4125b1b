// Dot products of doubles. A product is an integer of 106 bits, which is added in digits of 16 bits. A row holds the
// products whose two exponents add up to one of 16 consecutive values.
struct Place {
    typedef Columns<264, 16, 0> All; // Row r has units of 2^(16 r - 2150).
    enum : u32 { Words = All::Words };
    All columns;
    Signs signs;

    __device__ Place(u32* words) : columns(words) {}

    // Returns the significand of a finite number. The last bit of the significand is worth 2^(exponent - 1075), and the
    // exponent is at least 1. The minimum leaves the hidden bit unset in a subnormal number, because the number with
    // the hidden bit is larger.
    __device__ static u64 significand(double x, u32& exponent)
    {
        u32 upper = __double2hiint(x) & 0x7fffffff;
        exponent = max(upper >> 20, 1u);
        return (u64)min(upper, (upper & 0xfffff) | 0x100000) << 32 | (u32)__double2loint(x);
    }

    __device__ void multiply(double a, double b, int = 0)
    {
        u32 first, second, sign = (int)(__double2hiint(a) ^ __double2hiint(b)) >> 31;
        u64 x = significand(a, first), y = significand(b, second);
        signs.minus &= sign;
        signs.odd |= max(first, second) == 2047 ? 1u << 29 : 0;
        // The product in two's complement, shifted by fewer than 16 bits. It has eight digits, and the last one holds
        // the sign.
        u64 low = x * y, high = __umul64hi(x, y);
        u32 exponent = first + second, shift = exponent % 16;
        high = high << shift | low >> 1 >> (63 - shift);
        low <<= shift;
        i64 signs64 = (int)sign;
        low ^= signs64;
        high ^= signs64;
        low -= signs64;
        high += low == 0 && sign != 0;
        u32 row = exponent / 16 * All::Row;
        for (u32 k = 0; k < 4; k++) {
            columns.add(row, k, (u32)(low >> 16 * k) & 0xffff);
            columns.add(row, k + 4, k < 3 ? (u32)(high >> 16 * k) & 0xffff : (u32)((i64)high >> 48));
        }
    }

    // Finite factors are skipped, because their product may overflow here, but not in the digits.
    __device__ void note(double a, double b)
    {
        if (a - a != 0 || b - b != 0) signs.note(a * b);
    }

    __device__ bool special() { return signs.special(); }

    __device__ void empty(u64* digits, u32* flags)
    {
        signs.report(flags, 1u << 31);
        columns.empty(digits);
    }
};
