// Sums of bfloat16. A row covers eight consecutive exponents; in units of its row, an element has at most 15 bits.
//
// Multiplying an element of row r by 2^(122 - 8 r) gives a multiple of 2^-12 below 2^3. Adding 1.5 × 2^11 moves it, as
// an integer, to the lower bits of the float.
struct Place {
    typedef Columns<34, 8, 0> All; // Row r has units of 2^(8 r - 150); elements of row r are added to row r + 2.
    enum : u32 { Words = All::Words };
    All columns;
    Signs signs;
    u32 flip;

    __device__ Place(u32* words) : columns(words), flip(opaque(0x7c800000)) {}

    // Adds the element in the upper half of `bits`. Its row is in bits 7 to 11 of `row`.
    __device__ void add(u32 bits, u32 row)
    {
        const float Most = 1.5f * (1 << 11);
        float scale = __uint_as_float((bits & 0x7c000000) ^ flip);
        u32 most = __float_as_uint(__fmaf_rn(__uint_as_float(bits), scale, Most));
        columns.add(row & 0xf80, 2, most - __float_as_uint(Most));
        signs.odd |= most; // Only an infinity or NaN sets bit 29.
    }

    __device__ void add(In x)
    {
        signs.minus &= x | x << 16;
        add((u32)x << 16, x >> 3);
    }

    __device__ void add(const Vector& vector)
    {
        for (int w = 0; w < 4; w++) {
            u32 word = vector.word[w];
            signs.minus &= word;
            add(word << 16, word >> 3);
            add(word & 0xffff0000, word >> 19);
        }
    }

    __device__ void note(In x) { signs.note(widen(x)); }

    __device__ bool special() { return signs.special(); }

    __device__ void empty(u64* digits, u32* flags)
    {
        signs.report(flags, 0x80008000);
        columns.empty(digits);
    }
};
