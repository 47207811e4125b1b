// The sum of bfloat16. A row has eight exponents: an element has at most 15 bits in units of its row.
//
// An element of row r, times 2^(122 - 8 r), is a multiple of 2^-12 below 2^3. Adding 1.5 × 2^11 makes it an integer in
// the lower bits.
struct Place {
    typedef Columns<34, 8, 0> All; // Row r counts 2^(8 r - 150), and an element of row r has row r + 2.
    enum : u32 { Words = All::Words };
    All columns;
    Signs signs;
    u32 flip;

    __device__ Place(u32* words) : columns(words), flip(opaque(0x7c800000)) {}

    // Adds the element that is the upper half of `bits`, and whose row is in the bits 7 to 11 of `row`.
    __device__ void add(u32 bits, u32 row)
    {
        const float Most = 1.5f * (1 << 11);
        float scale = __uint_as_float((bits & 0x7c000000) ^ flip);
        u32 most = __float_as_uint(__fmaf_rn(__uint_as_float(bits), scale, Most));
        columns.add(row & 0xf80, 2, most - __float_as_uint(Most));
        signs.odd |= most; // The bits of `Most`, and lower ones; or those of an infinity or NaN.
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
