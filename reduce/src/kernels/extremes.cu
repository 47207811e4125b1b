// The minimum and the maximum in one pass. The operation is the minimum; the placeholders that begin with OTHER stand
// for the instructions of the maximum.
struct Other {
    __device__ static Local start() { Local a; asm("OTHER_START %0;" : "=" LOCALS (a)); return a; }
    __device__ static Acc none() { Acc a; asm("OTHER_NONE %0;" : "=" VALUES (a)); return a; }
    __device__ static Acc empty() { Acc a; asm("OTHER_EMPTY %0;" : "=" VALUES (a)); return a; }
    __device__ static Local add(Local a, Operand b)
    {
        Local c;
        asm("OTHER_ADD %0, %1, %2;" : "=" LOCALS (c) : LOCALS (a), OPERANDS (b));
        return c;
    }
    __device__ static Acc join(Acc a, Acc b)
    {
        Acc c;
        asm("OTHER_JOIN %0, %1, %2;" : "=" VALUES (c) : VALUES (a), VALUES (b));
        return c;
    }
};

struct Value {
    Acc low, high;
    enum : u32 { Words = 2 * Halves };
    __device__ static Value none() { return Value{Op::none(), Other::none()}; }
    __device__ u32 word(u32 i) const { return (u32)((u64)(i < Halves ? low : high) >> 32 * (i % Halves)); }
    __device__ static Value of(const u32* words)
    {
        if (Halves == 1) return Value{words[0], words[1]};
        return Value{(Acc)((u64)words[1] << 32 | words[0]), (Acc)((u64)words[Words - 1] << 32 | words[Words - 2])};
    }
    // Returns the value of lane `lane ^ s`.
    __device__ Value from(u32 s) const { return Value{__shfl_xor_sync(~0u, low, s), __shfl_xor_sync(~0u, high, s)}; }
};

__device__ Value join(Value a, Value b) { return Value{Op::join(a.low, b.low), Other::join(a.high, b.high)}; }

// A thread's values. The vectors at even places and those at odd places have separate values, because each
// comparison depends on the previous one.
struct Best {
    Local low[2], high[2];
    __device__ Best() { for (u32 i = 0; i < 2; i++) low[i] = Op::start(), high[i] = Other::start(); }
    __device__ void add(const Vector& vector, u32 place, u32)
    {
        const u32 i = place % 2;
        for (u32 e = 0; e < Width; e++) low[i] = Op::add(low[i], vector.at[e]), high[i] = Other::add(high[i], vector.at[e]);
    }
    __device__ void one(In element, u32) { low[0] = Op::add(low[0], element), high[0] = Other::add(high[0], element); }
    __device__ Value all(u64) const
    {
        return join(Value{Op::value(low[0]), Op::value(high[0])}, Value{Op::value(low[1]), Op::value(high[1])});
    }
};

__device__ void put(const Row& row, Value best, u64 n, void* minima, void* maxima, u64 index, u32 epoch)
{
    const Acc low = n > 0 ? Op::result(best.low, n) : Op::empty(), high = n > 0 ? Op::result(best.high, n) : Other::empty();
    if (epoch > 0) {
        answer(minima, low, epoch);
        answer(maxima, high, epoch);
        return;
    }
    if (minima) ((Acc*)minima)[index] = low;
    if (maxima) ((Acc*)maxima)[index] = high;
}
