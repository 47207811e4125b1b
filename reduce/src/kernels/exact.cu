// Exact sums. A sum is an integer, which is rounded once, at the end. Its digits have 32 bits. Each digit is stored in
// 64 bits, and the upper half collects carries. `state` holds the words that blocks exchange; all of them are zero
// between launches.
typedef long long i64;
enum : bool { Double = sizeof(Acc) == 8 };
// The unit of the integer is 2^-Unit. A sum of 2^40 elements or products does not reach the sign bit of the last digit.
#if defined(PRODUCTS)
enum : u32 { Digits = Double ? 134 : 20, Unit = Double ? 2150 : 331 };
#else
enum : u32 { Digits = Double ? 68 : 12, Unit = Double ? 1075 : 150 };
#endif
enum : u32 { Each = (Digits + 31) / 32 }; // The number of digits in a lane when a warp holds all digits.
enum : u32 { Raw = ~0u }; // The epoch that requests flags and digits instead of the rounded sum.
// `Nan`, `Above`, `Below` and `Other` are set if an element is NaN, infinity, -infinity, or anything but -0. Only a sum
// of 0 depends on `Other`, so it may be unset if all elements are negative or -0 and the sum is not 0.
enum : u32 { Nan = 1, Above = 2, Below = 4, Other = 8 };
// The words of the exchange have several copies, because additions to one address are slow. Each copy occupies whole
// cache lines. A word counts blocks in bit `Counted` and the bits above it.
enum : u32 { Copies = 8, Line = (Digits + 16) / 16 * 16, Counted = 52 };

// Sets all elements to 0 or, if `negative` is true, to -0.
__device__ void blank(Vector& vector, bool negative)
{
    for (int w = 0; w < 4; w++) vector.word[w] = !negative || (Double && w % 2 == 0) ? 0 : Narrow ? 0x80008000 : 0x80000000;
}

// Returns the number of vectors of the chunk that begins at vector `first`. The last chunk of an unaligned slice may
// begin after the last of its `whole` vectors.
__device__ u32 within(u64 first, u32 vectors, u64 whole)
{
    return first < whole ? (u32)min((u64)vectors, whole - first) : 0;
}

// Adds sum × 2^place units to digits that no other thread changes. A call changes three digits, each by less than 2^32,
// so 2^31 calls do not overflow a digit.
__device__ void deposit(u64* digits, u32 place, i64 sum)
{
    u32 shift = place % 32;
    u64* at = digits + place / 32;
    at[0] += (u32)sum << shift;
    at[1] += (u32)((u64)sum << shift >> 32);
    at[2] += sum >> 32 >> (32 - shift);
}

// Adds the integers of a warp. Lane 0 gets the sum.
__device__ i64 across(i64 sum)
{
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    return sum;
}

// Adds `value` to the integer that a lane's digits form, and returns the carry.
__device__ i64 plus(u32* digit, i64 value)
{
    for (int e = 0; e < Each; e++) {
        value += digit[e];
        digit[e] = (u32)value;
        value >>= 32;
    }
    return value;
}

__device__ bool all(const u32* digit, u32 bits)
{
    bool same = true;
    for (int e = 0; e < Each; e++) same = same && digit[e] == bits;
    return same;
}

// Returns whether a carry reaches this lane, either from the lane below or through lanes that pass it on. A single
// addition of lane masks finds the carries of all lanes, because a lane that starts a carry does not pass another one
// on.
__device__ bool reached(bool starts, bool passes, u32 into)
{
    u32 through = __ballot_sync(~0u, passes), from = __ballot_sync(~0u, starts) << 1 | into;
    return ((from + through) ^ through) >> threadIdx.x % 32 & 1;
}

// Propagates the carries. Each lane of the warp gets `Each` 32-bit digits of one integer in two's complement; lanes
// after the last digit repeat its sign.
__device__ void carry(const u64* digits, u32* digit)
{
    u32 lane = threadIdx.x % 32;
    i64 over = 0;
    for (int e = 0; e < Each; e++) {
        u32 k = lane * Each + e;
        over += k < Digits ? digits[k] : 0;
        digit[e] = (u32)over;
        over >>= 32;
    }
    // The carry into the next lane is at least -2^31 and at most 2^31. Adding it causes a carry of -1, 0 or 1.
    i64 below = __shfl_up_sync(~0u, over, 1);
    over = plus(digit, lane > 0 ? below : 0);
    // Carries of 1 are propagated first. A lane that starts one keeps less than 2^31, so it does not pass another one
    // on. A lane that starts a carry of -1 keeps at least -2^31 in two's complement. If all its bits are set and it
    // receives a carry of 1, the two carries cancel.
    bool full = all(digit, ~0u), up = reached(over > 0, full && over >= 0, 0);
    if (full && up && over < 0) over = 0;
    plus(digit, up);
    // Then carries of -1 are propagated. A lane that starts one is not zero, so it does not pass another one on.
    plus(digit, -(i64)reached(over < 0, all(digit, 0), 0));
}

// Returns the nearest value of the result's type, ties to even, to all lanes of a warp. Overwrites the digits.
__device__ Acc rounded(u64* digits)
{
    u32 digit[Each], lane = threadIdx.x % 32;
    carry(digits, digit);
    bool negative = __shfl_sync(~0u, digit[Each - 1], 31) >> 31;
    if (negative) {
        for (int e = 0; e < Each; e++) digit[e] = ~digit[e];
        plus(digit, reached(false, all(digit, ~0u), 1));
    }
    int highestOwn = -1;
    for (int e = 0; e < Each; e++) if (digit[e] != 0) highestOwn = lane * Each + e;
    u32 some = __ballot_sync(~0u, highestOwn >= 0);
    if (some == 0) return 0;
    int top = __shfl_sync(~0u, highestOwn, 31 - __clz(some));
    bool below = false;
    for (int e = 0; e < Each; e++) {
        int k = lane * Each + e;
        if (k < Digits) digits[k] = digit[e];
        below = below || (digit[e] != 0 && k < top - 2);
    }
    below = __any_sync(~0u, below);
    __syncwarp(); // All digits have been stored.
    // `high` holds the highest 64 bits; `rest` is nonzero if any lower bit is set.
    u32 zeros = __clz((u32)digits[top]);
    u64 high = digits[top] << 32 | (top > 0 ? digits[top - 1] : 0), rest = top > 1 ? digits[top - 2] : 0;
    if (zeros > 0) high = high << zeros | rest >> (32 - zeros);
    rest = (u32)(rest << zeros) | below;
    // `last` is the position of the result's last bit, which is worth at least 2^-1074 in a double and 2^-149 in a
    // float.
    const int Precision = Double ? 53 : 24, Least = Unit - (Double ? 1074 : 149);
    int highest = 32 * top + 31 - (int)zeros, last = max(highest + 1 - Precision, Least);
    int drop = 63 - highest + last;
    // If `drop` is more than 64, all 64 bits are worth less than half of the result's last bit.
    u64 kept = drop < 64 ? high >> drop : 0, half = 0 < drop && drop <= 64 ? high << (64 - drop) : 0;
    kept += half > 1ull << 63 || (half == 1ull << 63 && (rest > 0 || kept % 2 == 1));
    // If the significand was rounded up to 2^Precision, it carries into the exponent.
    u64 bits = ((u64)(last - Least) << (Precision - 1)) + kept;
    if (Double) return (Acc)__longlong_as_double(min(bits, 0x7ffull << 52) | (u64)negative << 63);
    return (Acc)__uint_as_float((u32)min(bits, 0xffull << 23) | (u32)negative << 31);
}

// Returns the result to all lanes of a warp: the rounded integer, or a NaN, infinity or -0, which the integer cannot
// represent.
__device__ Acc concluded(u64* digits, u32 flags, u64 n)
{
    if (flags & Nan || (flags & Above && flags & Below)) return nan();
    if (flags & (Above | Below)) return flags & Above ? extreme(true) : extreme(false);
    Acc sum = rounded(digits);
    return sum == 0 && n > 0 && !(flags & Other) ? (Acc)-0.0 : sum;
}

// Stores a result. Every NaN is stored as the same bits.
__device__ void store(void* out, Acc value, u32 epoch)
{
    if (value != value) value = nan();
    answer(out, value, epoch);
}

// Adds the block's digits and flags to one copy of the words. The highest 12 bits of a word count the blocks that have
// added to it, so no block has to wait, and no fence is needed. The lower bits hold the sum of a digit or, in the last
// word, a 12-bit count for each flag.
__device__ void publish(u64* state, const u64* digits, u32 f)
{
    u32 tid = threadIdx.x;
    if (tid > Digits) return;
    u64 value = (f & Nan) | (f & Above) << 11 | (u64)(f & Below) << 22 | (u64)(f & Other) << 33;
    // Each digit passes its upper half to the next digit once. A digit is then less than 2^33, and the sum of 4095
    // digits is less than 2^45. The last digit keeps its upper half, which holds the sign.
    if (tid < Digits) value = (tid + 1 < Digits ? (u32)digits[tid] : digits[tid]) + (tid > 0 ? (i64)digits[tid - 1] >> 32 : 0);
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;"
                 :: "l"(state + blockIdx.x % Copies * Line + tid), "l"((1ull << Counted) + value) : "memory");
}

// Waits until all blocks have published, adds the copies, and clears them.
__device__ void collect(u64* state, u64* digits, u32* flags)
{
    for (u32 k = threadIdx.x; k <= Digits; k += THREADS) {
        u64 words[Copies], sum = 0, seen = 0;
        for (u32 c = 0; c < Copies; c++)
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[c]) : "l"(state + c * Line + k) : "memory");
        for (u32 c = 0; c < Copies; c++) {
            u64* at = state + c * Line + k;
            // A negative sum borrows one from the count. Adding half of the count's unit corrects this.
            while ((words[c] + (1ull << (Counted - 1))) >> Counted != (gridDim.x + Copies - 1 - c) / Copies)
                asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[c]) : "l"(at) : "memory");
            asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(at) : "memory");
            sum += (i64)(words[c] << (64 - Counted)) >> (64 - Counted);
            seen |= words[c];
        }
        if (k < Digits) digits[k] = sum;
        else *flags = (seen & 4095 ? Nan : 0) | (seen >> 12 & 4095 ? Above : 0) | (seen >> 24 & 4095 ? Below : 0)
                    | (seen >> 36 & 4095 ? Other : 0);
    }
}

// Combines the digits and flags of all blocks; those of this block are in shared memory. The last block, which starts
// after the others, stores the result or, if `epoch` is `Raw`, the flags and digits.
__device__ void conclude(void* out, u64* state, u64* digits, u32* flags, u64 n, u32 epoch)
{
    u32 tid = threadIdx.x;
    __syncthreads(); // The block's digits are complete.
    if (gridDim.x > 1) {
        publish(state, digits, *flags);
        if (blockIdx.x + 1 < gridDim.x) return;
        __syncthreads(); // The block's digits have been read.
        collect(state, digits, flags);
        __syncthreads(); // The digits of all blocks are complete.
    }
    if (tid >= 32) return;
    u64 f = *flags;
    if (epoch != Raw) {
        Acc result = concluded(digits, f, n);
        if (tid == 0) store(out, result, epoch);
        return;
    }
    // These words can be combined by integer additions, on any number of GPUs: a count for each flag, and digits whose
    // carries have been propagated, so that a sum of 2^31 of them does not overflow. The last digit has the sign.
    u32 digit[Each];
    carry(digits, digit);
    if (__any_sync(~0u, !all(digit, 0))) f |= Other;
    if (tid == 0) *(u64*)out = (f & 1) | (f & 2) << 15 | (f & 4) << 30 | (f & 8) << 45;
    for (int e = 0; e < Each; e++) {
        u32 k = tid * Each + e;
        if (k < Digits) ((u64*)out)[1 + k] = k + 1 < Digits ? digit[e] : (i64)(int)digit[e];
    }
}
