// Bins in shared memory, which add elements without rounding; only the total is rounded.
typedef unsigned long long Digits; // A digit has 32 bits; the upper half of its word collects carries.

// Parameters: bins per column, columns per block, bits between neighbouring bins, digits in the sum.
template <unsigned int B, unsigned int C, unsigned int W, unsigned int D> struct Layout {
    static constexpr unsigned int bins = B, columns = C, bits = W, digits = D;
};
template <class T> struct Of : Layout<16, 512, 16, 10> {}; // For floats, the unit is 2^-150.
template <> struct Of<double> : Layout<66, 32, 32, 68> {}; // The unit is 2^-1074.
template <> struct Of<int> : Layout<1, 512, 32, 3> {};
typedef Of<Element> My;
// A bin in a column has two words, which form a double. A bin of doubles has four words.
const unsigned int Cells = My::bins * My::columns * (sizeof(Element) == 8 ? 4 : 2);
extern __shared__ unsigned int cells[];

#ifdef TOGETHER // A variant defines this.
const unsigned int Stride = 2, High = 1;
#else // The two words of a double are apart, so that a warp's lanes use 32 banks.
const unsigned int Stride = 1, High = Cells / 2;
#endif

__device__ void increase(unsigned int place, double x)
{
    unsigned int* low = cells + place * Stride;
    double sum = __hiloint2double(low[High], low[0]) + x;
    low[0] = __double2loint(sum);
    low[High] = __double2hiint(sum);
}

// Bin b adds floats with exponents 16b to 16b + 15 in 24 + 15 of 53 bits, so 2^14 additions fit.
__device__ void bin(float x) { increase((__float_as_uint(x) >> 27 & 15) * 512 + threadIdx.x, x); }

// An element has 32 bits and a double has 53, so a bin can add 2^21 elements.
__device__ void bin(int x) { increase(threadIdx.x, x); }

// Doubles are too wide for bins. Warps add them to shared integer digits, with one set per sign.
__device__ void bin(double x)
{
    long long bits = __double_as_longlong(x);
    unsigned int exponent = bits >> 52 & 2047, place = exponent - (exponent > 0);
    Digits mantissa = (bits & (1ull << 52) - 1) | (Digits)(exponent > 0) << 52;
    Digits low = mantissa << place % 32, high = mantissa >> 1 >> (63 - place % 32);
    unsigned int digits[3] = {(unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high};
    unsigned int* cell = cells + (place / 32 * 4 + (bits < 0) * 2) * 32 + threadIdx.x % 32;
    for (int k = 0; k < 3; k++, cell += 4 * 32)
        if (digits[k] > 0 && atomicAdd(cell, digits[k]) > ~digits[k]) atomicAdd(cell + 32, 1);
}

// Returns the value of bin b in a column, in units of that bin, and empties the bin.
__device__ long long take(unsigned int b, unsigned int column)
{
    auto clear = [](unsigned int& cell) { unsigned int was = cell; cell = 0; return was; };
    if (sizeof(Element) == 8) {
        unsigned int* cell = cells + b * 4 * My::columns + column;
        Digits plus = clear(cell[0]) + ((Digits)clear(cell[32]) << 32);
        Digits minus = clear(cell[64]) + ((Digits)clear(cell[96]) << 32);
        return plus - minus;
    }
    unsigned int* low = cells + (b * My::columns + column) * Stride;
    double sum = __hiloint2double(clear(low[High]), clear(low[0]));
    if (My::bins == 1) return sum;
    return sum * __hiloint2double((1023 + 150 - 16 * b) << 20, 0); // Multiplies by a power of two.
}

// Adds a multiple of bin b's unit to the digits. A digit changes by less than 2^48, so 2^15 changes fit.
__device__ void deposit(Digits* digits, unsigned int b, long long sum)
{
    unsigned int place = b * My::bits, shift = place % 32;
    atomicAdd(digits + place / 32, (Digits)(unsigned int)sum << shift);
    atomicAdd(digits + place / 32 + 1, (Digits)(sum >> 32) << shift);
}

// Rounds the digits to the nearest float or double, ties to even; integers wrap.
__device__ Element rounded(Digits* digits)
{
    const int count = My::digits;
    long long carry = 0;
    for (int k = 0; k < count; k++) {
        carry += digits[k];
        digits[k] = (unsigned int)carry;
        carry >>= 32;
    }
    if ((Element)0.5 == 0) return (Element)(int)digits[0];
    bool negative = carry < 0, over = negative;
    for (int k = 0; negative && k < count; k++) {
        digits[k] = (Digits)(unsigned int)~digits[k] + over;
        over = over && digits[k] >> 32;
        digits[k] = (unsigned int)digits[k];
    }
    int top = count - 1;
    while (top >= 0 && digits[top] == 0) top--;
    if (top < 0) return 0;
    // `high` has the top 64 bits; `rest` is nonzero if a lower bit is set; `at` is the top bit's position.
    int zeros = __clz((unsigned int)digits[top]), at = 32 * top + 31 - zeros;
    Digits high = digits[top] << 32 | (top > 0 ? digits[top - 1] : 0), rest = top > 1 ? digits[top - 2] : 0;
    if (zeros > 0) high = high << zeros | rest >> (32 - zeros);
    rest = (unsigned int)(rest << zeros);
    for (int k = 0; k < top - 2; k++) rest |= digits[k];
    const bool wide = sizeof(Element) == 8;
    // `last` is the position of the result's last bit; for a float, it is at least 1 (2^-149).
    int precision = wide ? 53 : 24, last = max(at + 1 - precision, wide ? 0 : 1), drop = 63 - at + last;
    Digits kept = drop < 64 ? high >> drop : 0, half = drop > 0 ? high << (64 - drop) : 0;
    kept += half > 1ull << 63 || (half == 1ull << 63 && (rest > 0 || kept & 1));
    // A mantissa of 2^precision carries into the exponent.
    Digits bits = ((Digits)(last - !wide) << (precision - 1)) + kept;
    bits = min(bits, wide ? 0x7ffull << 52 : 0xffull << 23);
    if (wide) return __longlong_as_double(bits | (Digits)negative << 63);
    return __uint_as_float((unsigned int)bits | (unsigned int)negative << 31);
}
