// Returns a constant that ptxas does not know, so that it stays in a register: a logical operation of two constants and
// a value takes two instructions.
__device__ u32 opaque(u32 bits) { return bits * gridDim.y; }

__device__ u32 lane()
{
    u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

// Columns: integers of 32 bits in shared memory. Row r counts units of 2^(Step r), and each lane has a column, which
// all warps of a block share. So lane t uses bank t, whatever the exponents are. No addition returns a value, so none
// is waited for. `cut.rs` bounds the additions, so that no word overflows.
template <u32 Rows, u32 Step, u32 First> struct Columns {
    enum : u32 { Words = Rows * 32, Row = 128, PerDigit = 32 / Step };
    char* words;
    u32 own; // The offset of the thread's column.

    __device__ Columns(u32* at) : words((char*)at), own(lane() * 4)
    {
        for (u32 w = threadIdx.x; w < Words / 4; w += THREADS) ((int4*)at)[w] = make_int4(0, 0, 0, 0);
        __syncthreads(); // The words are zero.
    }

    // Adds to a row below the one at `offset`, which is a multiple of the size of a row.
    __device__ void add(u32 offset, u32 below, u32 value) const
    {
        atomicAdd((u32*)(words + (offset | own) + below * Row), value);
    }

    // Adds all rows to the block's digits, and clears them. Row `First` is worth one unit; rows before it are zero.
    __device__ void empty(u64* digits) const
    {
        __shared__ i64 sums[Rows];
        static_assert(Digits <= THREADS, "each digit has a thread");
        u32 tid = threadIdx.x;
        // Eight lanes add a row.
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
        // A sum is less than 2^36, so it has parts in two digits. The parts of a digit are less than 2^36.
        if (tid >= Digits) return;
        i64 parts = 0;
        for (u32 k = 0; k < 2 * PerDigit; k++) {
            u32 r = tid * PerDigit + First - PerDigit + k, shift = Step * (k % PerDigit);
            i64 sum = r < Rows ? sums[r] : 0;
            // The upper part has the sign.
            parts += k < PerDigit ? sum >> (32 - shift) : (u32)((u64)sum << shift);
        }
        digits[tid] += parts;
    }
};

// The signs of the elements, and the special values. `odd` has bit 29 if and only if an infinity or NaN was added, whose
// digits do not matter: it is read again, because a branch for each vector would take time.
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

    // Sets the block's flags, when all elements are in columns.
    __device__ void report(u32* flags, u32 signs)
    {
        __syncthreads(); // All elements are in columns, and the flags are zero.
        if ((minus & signs) != signs) seen |= Other;
        if (seen != 0) atomicOr(flags, seen);
        minus = ~0u;
        seen = 0;
    }
};
