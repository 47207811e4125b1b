// Sums of doubles, and of products of floats or bfloat16, which doubles represent exactly. A row holds the doubles with
// eight consecutive exponents. In units of its row, a double has at most 60 bits, which are added as four integers of
// 16 bits to every second row.
//
// Multiplying a double of row r by 2^(1018 - 8 r) gives a multiple of 2^-57 below 2^3. Adding 1.5 × 2^27 rounds it to a
// multiple of 2^-25, which is then an integer of 28 bits and a sign in the lower bits. The remainder is at most 2^-26,
// and adding 1.5 × 2^-5 makes it an integer from -2^31 to 2^31.
struct Place {
#if defined(PRODUCTS)
    typedef Columns<262, 8, 93> All; // Row r has units of 2^(8 r - 1075).
#else
    typedef Columns<262, 8, 0> All;
#endif
    enum : u32 { Words = All::Words };
    All columns;
    Signs signs;
    u32 flip;

    __device__ Place(u32* words) : columns(words), flip(opaque(0x7f900000)) {}

    __device__ void add(double x)
    {
        const double Most = 1.5 * (1 << 27), Least = 1.5 / (1 << 5);
        u32 upper = __double2hiint(x), row = upper >> 16 & 0x7f80;
        double scale = __hiloint2double((upper & 0x7f800000) ^ flip, 0);
        double most = __fma_rn(x, scale, Most), rest = __fma_rn(x, scale, Most - most), least = rest + Least;
        columns.add(row, 0, __double2loint(least) & 0xffff);
        columns.add(row, 2, (u32)(__double_as_longlong(least) >> 16));
        columns.add(row, 4, __double2loint(most) & 0xffff);
        columns.add(row, 6, (u32)(__double_as_longlong(most) >> 16));
        signs.minus &= upper;
        signs.odd |= __double2hiint(most); // Only an infinity or NaN sets bit 29.
    }

#if defined(PRODUCTS)
    __device__ static double product(In a, In b) { return (double)widen(a) * (double)widen(b); }

    __device__ void multiply(In a, In b, int = 0) { add(product(a, b)); }

    __device__ void note(In a, In b) { signs.note(product(a, b)); }
#else
    __device__ void add(const Vector& vector)
    {
        for (int e = 0; e < Width; e++) add(vector.at[e]);
    }

    __device__ void note(double x) { signs.note(x); }
#endif

    __device__ bool special() { return signs.special(); }

    __device__ void empty(u64* digits, u32* flags)
    {
        signs.report(flags, 1u << 31);
        columns.empty(digits);
    }
};
