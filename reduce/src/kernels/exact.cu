// Exact sums: an integer in digits of 32 bits, which is rounded once. Each digit is stored in 64 bits, whose
// upper half collects carries. `state` holds the ticket, the flags and the digits; all are zero between launches.
typedef long long i64;
enum : bool { Double = sizeof(Acc) == 8 };
#if defined(PRODUCTS)
enum : bool { Wide = true };
#else
enum : bool { Wide = Double };
#endif
enum : u32 { Digits = Wide ? 68 : 12 }; // The unit is 2^-1074, or 2^-150.
enum : u32 { Raw = ~0u }; // The epoch that requests flags and digits instead of the rounded sum.
enum : u32 { Nan = 1, Above = 2, Below = 4, Other = 8 }; // Other: an element is not -0.

// Adds ±(sum × 2^place units). Each of three digits changes by less than 2^32, so 2^31 calls overflow none of them.
__device__ void deposit(u64* digits, u32 place, i64 sum)
{
    if (sum == 0) return;
    u32 shift = place % 32, low = (u32)sum << shift, middle = (u32)((u64)sum << shift >> 32);
    i64 high = sum >> 32 >> (32 - shift);
    u64* at = digits + place / 32;
    atomicAdd(at, (u64)low);
    atomicAdd(at + 1, (u64)middle);
    if (high != 0) atomicAdd(at + 2, (u64)high);
}

// Leaves 32 bits in each digit but the last, which has the sign.
__device__ void carry(u64* digits)
{
    i64 rest = 0;
    #pragma unroll 1
    for (u32 k = 0; k < Digits; k++) {
        rest += digits[k];
        digits[k] = k + 1 < Digits ? (u32)rest : (u64)rest;
        rest >>= 32;
    }
}

// Returns the nearest float, ties to even. Runs in one thread, and overwrites the digits.
__device__ Acc rounded(u64* digits)
{
    i64 carry = 0;
    #pragma unroll 1
    for (u32 k = 0; k < Digits; k++) {
        carry += digits[k];
        digits[k] = (u32)carry;
        carry >>= 32;
    }
    bool negative = carry < 0;
    i64 over = negative;
    #pragma unroll 1
    for (u32 k = 0; negative && k < Digits; k++) {
        over += (u32)~digits[k];
        digits[k] = (u32)over;
        over >>= 32;
    }
    int top = Digits - 1;
    #pragma unroll 1
    while (top >= 0 && digits[top] == 0) top--;
    if (top < 0) return 0;
    // `high` holds the highest 64 bits; `rest` is nonzero if any lower bit is set.
    u32 zeros = __clz((u32)digits[top]);
    u64 high = digits[top] << 32 | (top > 0 ? digits[top - 1] : 0), rest = top > 1 ? digits[top - 2] : 0;
    if (zeros > 0) high = high << zeros | rest >> (32 - zeros);
    rest = (u32)(rest << zeros);
    #pragma unroll 1
    for (int k = 0; k < top - 2; k++) rest |= digits[k];
    // The position of the result's last bit, which is at least 2^-1074 in a double and 2^-149 in a float.
    const int Precision = Double ? 53 : 24, Least = Double ? 0 : Wide ? 1074 - 149 : 150 - 149;
    int highest = 32 * top + 31 - (int)zeros, last = max(highest + 1 - Precision, Least);
    int drop = 63 - highest + last;
    // All 64 bits may be worth less than half of the result's last bit.
    u64 kept = drop < 64 ? high >> drop : 0, half = 0 < drop && drop <= 64 ? high << (64 - drop) : 0;
    kept += half > 1ull << 63 || (half == 1ull << 63 && (rest > 0 || kept % 2 == 1));
    // A significand of 2^Precision carries into the exponent.
    u64 bits = ((u64)(last - Least) << (Precision - 1)) + kept;
    if (Double) return (Acc)__longlong_as_double(min(bits, 0x7ffull << 52) | (u64)negative << 63);
    return (Acc)__uint_as_float((u32)min(bits, 0xffull << 23) | (u32)negative << 31);
}

// Returns the rounded integer, or a NaN, infinity or -0, which the integer cannot represent.
__device__ Acc concluded(u64* digits, u32 flags, u64 n)
{
    if (flags & Nan || (flags & Above && flags & Below)) return nan();
    if (flags & (Above | Below)) return flags & Above ? extreme(true) : extreme(false);
    if (n > 0 && !(flags & Other)) return (Acc)-0.0;
    return rounded(digits);
}

// Adds the block's digits and flags, which are in shared memory, to those of all blocks. The last
// block stores the result, or the flags and digits, and resets the state to zero.
__device__ void conclude(void* out, u64* state, u64* digits, u32* flags, u64 n, u32 epoch)
{
    __shared__ bool last;
    u32 tid = threadIdx.x;
    __syncthreads(); // The block's digits are complete.
    if (gridDim.x > 1) {
        if (tid < Digits && digits[tid] != 0) atomicAdd(state + 1 + tid, digits[tid]);
        if (tid == 0 && *flags != 0) atomicOr((u32*)state + 1, *flags);
        __syncthreads();
        if (tid == 0) {
            __threadfence(); // The block's digits are visible before its ticket is taken.
            last = atomicInc((u32*)state, gridDim.x - 1) == gridDim.x - 1;
            __threadfence(); // The digits of all earlier tickets are visible from here on.
        }
        __syncthreads();
        if (!last) return;
        if (tid < Digits) digits[tid] = atomicExch(state + 1 + tid, 0);
        if (tid == 0) *flags = atomicExch((u32*)state + 1, 0);
        __syncthreads();
    }
    if (epoch != Raw) {
        if (tid == 0) store(out, concluded(digits, *flags, n), epoch);
        return;
    }
    // Words that integer additions join, on any number of GPUs: a count for each flag, and digits whose carries have
    // moved on, so that 2^31 of them overflow none.
    if (tid == 0) carry(digits);
    __syncthreads();
    u64 f = *flags;
    if (tid == 0) *(u64*)out = (f & 1) | (f & 2) << 15 | (f & 4) << 30 | (f & 8) << 45;
    if (tid < Digits) ((u64*)out)[1 + tid] = digits[tid];
}
