// The index of the smallest or largest element, or the lowest index if several elements have this value.

// A value, and the number of the first vector that contains it.
struct Value {
    Acc value;
    u64 at;
    enum : u32 { Words = Halves + 2 };
    __device__ static Value none() { return Value{Op::none(), ~0ull}; }
    __device__ u32 word(u32 i) const
    {
        if (i < 2) return (u32)(at >> 32 * i);
        return (u32)((u64)value >> 32 * (i - 2));
    }
    __device__ static Value of(const u32* words)
    {
        Value all{words[2], (u64)words[1] << 32 | words[0]};
        if (Halves > 1) all.value = (Acc)((u64)words[Words - 1] << 32 | words[2]);
        return all;
    }
    // Returns the value of lane `lane ^ s`.
    __device__ Value from(u32 s) const { return Value{__shfl_xor_sync(~0u, value, s), __shfl_xor_sync(~0u, at, s)}; }
};

__device__ Value join(Value a, Value b)
{
    const Acc value = Op::join(a.value, b.value);
    const u64 first = a.value == value ? a.at : ~0ull, second = b.value == value ? b.at : ~0ull;
    return Value{value, first < second ? first : second};
}

// A thread's values. A vector's number is recorded only if the vector changes the value, so the first of several equal
// vectors is kept. The vectors at even places and those at odd places have separate values, because each comparison
// depends on the previous one.
struct Best {
    Local best[2];
    u32 at[2];
    __device__ Best() { for (u32 i = 0; i < 2; i++) best[i] = Op::start(), at[i] = ~0u; }
    __device__ void note(u32 i, Local value, u32 number)
    {
        if (value != best[i]) at[i] = number;
        best[i] = value;
    }
    __device__ void add(const Vector& vector, u32 place, u32 number)
    {
        const u32 i = place % 2;
        Local value = best[i];
        for (u32 e = 0; e < Width; e++) value = Op::add(value, vector.at[e]);
        note(i, value, number);
    }
    __device__ void one(In element, u32 number) { note(0, Op::add(best[0], element), number); }
    __device__ Value value(u32 i, u64 from) const { return Value{Op::value(best[i]), at[i] == ~0u ? ~0ull : from + at[i]}; }
    __device__ Value all(u64 from) const { return join(value(0, from), value(1, from)); }
};

// Stores the value and its index. `best.at` is the first vector that contains the value, and this vector is searched
// for the index. If the value is the neutral element, all elements are equal to it, or all are NaN, so the index is 0.
__device__ void put(const Row& row, Value best, u64 n, void* values, void* indices, u64 index, u32 epoch)
{
    const Acc value = Op::result(best.value, n);
    u64 place = 0;
    if (value != Op::result(Op::none(), n)) {
        #pragma unroll 1
        for (u32 e = 0; e < Width; e++) {
            place = best.at * Width + e;
            if (row.has(place) && Op::value(Op::add(Op::start(), row.at[place])) == best.value) break;
        }
        place -= row.skew;
    }
    if (epoch > 0) answer(values, value, epoch);
    else if (values) ((Acc*)values)[index] = value;
    if (epoch > 0)
        for (u32 h = 0; h < 2; h++)
            asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                         :: "l"((u64*)indices + h), "l"((u64)epoch << 32 | (u32)(place >> 32 * h)) : "memory");
    else if (indices) ((u64*)indices)[index] = place;
}
