// Returns `bits`, because gridDim.y is 1. ptxas cannot deduce this, so it keeps the constant in a register. A logical
// operation on a value and two known constants would take two instructions.
__device__ u32 opaque(u32 bits) { return bits * gridDim.y; }

__device__ u32 lane()
{
    u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

// Columns of 32-bit integers in shared memory. Row r has units of 2^(Step r). Each lane has a column, which all warps
// of a block share, so lane t uses bank t, whatever the exponents are. The additions return no values, so threads do
// not wait for them. `cut.rs` bounds the number of additions, so that no word overflows.
template <u32 Rows, u32 Step, u32 First> struct Columns {
    enum : u32 { Words = Rows * 32, Row = 128, PerDigit = 32 / Step };
    char* words;
    u32 own; // The offset of the thread's column.

    __device__ Columns(u32* at) : words((char*)at), own(lane() * 4)
    {
        for (u32 w = threadIdx.x; w < Words / 4; w += THREADS) ((int4*)at)[w] = make_int4(0, 0, 0, 0);
        __syncthreads(); // All words are zero.
    }

    // Adds `value` to the row that is `below` rows after the one at `offset`. `offset` is a multiple of the size of a
    // row.
    __device__ void add(u32 offset, u32 below, u32 value) const
    {
        atomicAdd((u32*)(words + (offset | own) + below * Row), value);
    }

    // Adds all rows to the block's digits, and clears the rows. Row `First` has the units of digit 0; rows before it
    // are zero.
    __device__ void empty(u64* digits) const
    {
        __shared__ i64 sums[Rows];
        static_assert(Digits <= THREADS, "each digit has a thread");
        u32 tid = threadIdx.x;
        // Eight lanes add the integers of a row.
        #pragma unroll 1
        for (u32 r = tid / 8; r / 4 * 4 < Rows; r += THREADS / 8) {
            i64 sum = 0;
            if (r < Rows) {
                int4* at = (int4*)words + r * 8 + tid % 8;
                int4 four = *at;
                *at = make_int4(0, 0, 0, 0);
                sum = ((i64)four.x + four.y) + ((i64)four.z + four.w);
            }
            for (int s = 4; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s, 8);
            if (tid % 8 == 0 && r < Rows) sums[r] = sum;
        }
        __syncthreads(); // All rows are zero, and their sums are stored.
        // A row's sum is less than 2^36, so it spans two digits. The parts of a digit add up to less than 2^36.
        if (tid >= Digits) return;
        i64 parts = 0;
        for (u32 k = 0; k < 2 * PerDigit; k++) {
            u32 r = tid * PerDigit + First - PerDigit + k, shift = Step * (k % PerDigit);
            i64 sum = r < Rows ? sums[r] : 0;
            // The upper part holds the sign.
            parts += k < PerDigit ? sum >> (32 - shift) : (u32)((u64)sum << shift);
        }
        digits[tid] += parts;
    }
};

// The signs of the elements, and the special values. Bit 29 of `odd` is set if and only if an infinity or NaN was
// added. The digits then do not matter, and the elements are read again to find the special values. A branch for each
// vector would take more time.
struct Signs {
    u32 minus, odd, seen; // A bit of `minus` is set if it is set in all elements.

    __device__ Signs() : minus(~0u), odd(0), seen(0) {}

    template <class T> __device__ void note(T x)
    {
        seen |= x != x ? Nan : x - x == 0 ? 0 : x > 0 ? Above : Below;
    }

    __device__ bool special()
    {
        bool special = odd >> 29 & 1;
        odd = 0;
        return special;
    }

    // Sets the block's flags after all elements have been added.
    __device__ void report(u32* flags, u32 signs)
    {
        __syncthreads(); // All elements have been added, and the flags have been cleared.
        if ((minus & signs) != signs) seen |= Other;
        if (seen != 0) atomicOr(flags, seen);
        minus = ~0u;
        seen = 0;
    }
};
