// Sums of floats. A row covers four consecutive exponents. In units of its row, an element has at most 27 bits, added as
// two integers: a multiple of 2^12 units, which is added three rows higher, and the remainder.
//
// Multiplying an element of row r by 2^(126 - 4 r) gives a multiple of 2^-24 below 2^3. Adding 1.5 × 2^11 rounds it to
// a multiple of 2^-12, which is then an integer in the lower bits. The remainder is at most 2^-13, and adding 1.5 ×
// 2^-1 makes it an integer too.
struct Place {
    typedef Columns<67, 4, 0> All; // Row r has units of 2^(4 r - 150).
    enum : u32 { Words = All::Words };
    All columns;
    Signs signs;
    u32 flip;

    __device__ Place(u32* words) : columns(words), flip(opaque(0x7e800000)) {}

    __device__ void add(float x)
    {
        const float Most = 1.5f * (1 << 11), Least = 0.75f;
        u32 bits = __float_as_uint(x), row = bits >> 18 & 0x1f80;
        float scale = __uint_as_float((bits & 0x7e000000) ^ flip);
        float most = __fmaf_rn(x, scale, Most), rest = __fmaf_rn(x, scale, Most - most), least = rest + Least;
        columns.add(row, 0, __float_as_uint(least) - __float_as_uint(Least));
        columns.add(row, 3, __float_as_uint(most) - __float_as_uint(Most));
        signs.minus &= bits;
        signs.odd |= __float_as_uint(most); // Only an infinity or NaN sets bit 29.
    }

    __device__ void add(const Vector& vector)
    {
        for (int e = 0; e < Width; e++) add(vector.at[e]);
    }

    __device__ void note(float x) { signs.note(x); }

    __device__ bool special() { return signs.special(); }

    __device__ void empty(u64* digits, u32* flags)
    {
        signs.report(flags, 1u << 31);
        columns.empty(digits);
    }
};
