// Reduces rows with operations whose results do not depend on the order of the elements. Vectors are loaded at
// aligned addresses, so the first and the last vector of a row may be incomplete. There is no neutral element, so
// missing elements are skipped.

// A row, or a slice, which consists of elements `skew` to `end` - 1 of the vectors at `at`.
struct Row {
    const In* at;
    u32 skew;
    u64 end;
    __device__ u64 vectors() const { return (end + Width - 1) / Width; }
    __device__ bool has(u64 element) const { return element >= skew && element < end; }
};

__device__ Row row_at(const In* in, u64 n)
{
    const u32 skew = (u32)((u64)in % 16 / sizeof(In));
    return Row{in - skew, skew, skew + n};
}

// Loads an element of an incomplete vector if `wanted` is true.
__device__ void load_one(In& value, const In* at, bool wanted)
{
#define LOAD(type, c, value) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc." type " %0, [%1]; }" \
                 : "+" c(value) : "l"(at), "r"((u32)wanted))
#if ELEMENT == 1
    u32 wide = value;
    LOAD("u8", "r", wide);
    value = (u8)wide;
#elif ELEMENT == 2
    LOAD("u16", "h", value);
#elif ELEMENT == 4
    LOAD("u32", "r", value);
#else
    LOAD("u64", "l", value);
#endif
#undef LOAD
}

// Threads 0 to `step` - 1 read vectors `from` to `to` - 1 of a row of `all` vectors. Each thread reads its vectors in
// increasing order. `best.add` gets a vector, its place in the batch, and its number, counted from `from`; `best.one`
// gets an element and the number of its vector.
template <class Best>
__device__ void scan(Best& best, const Row& row, u64 from, u64 to, u64 all, u32 t, u32 step)
{
    u64 begin = from, end = to;
    if (begin == 0 && row.skew > 0) begin = 1;
    if (end == all && row.end % Width > 0) end--;
    const bool head = begin > from, tail = end < to && (end > 0 || !head);
    #pragma unroll 1
    for (u32 side = 0; side < 2; side++) {
        if (side == 1 && begin < end) {
            const In* at = row.at + begin * Width;
            const u32 count = (u32)(end - begin), before = (u32)(begin - from);
            u32 w = 0;
            #pragma unroll 1
            for (; w + ROWS * step <= count; w += ROWS * step) {
                Vector vectors[ROWS];
                #pragma unroll
                for (u32 r = 0; r < ROWS; r++) load(vectors[r], at + (u64)(w + r * step + t) * Width, true);
                #pragma unroll
                for (u32 r = 0; r < ROWS; r++) best.add(vectors[r], r, before + w + r * step + t);
            }
            if (w < count) {
                Vector vectors[ROWS];
                #pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    vectors[r].pair[0] = vectors[r].pair[1] = 0;
                    load(vectors[r], at + (u64)(w + r * step + t) * Width, w + r * step + t < count);
                }
                #pragma unroll
                for (u32 r = 0; r < ROWS; r++)
                    if (w + r * step + t < count) best.add(vectors[r], r, before + w + r * step + t);
            }
        }
        if (t > 0 || !(side ? tail : head)) continue;
        const u64 number = side ? all - 1 : 0;
        Vector vector;
        vector.pair[0] = vector.pair[1] = 0;
        for (u32 e = 0; e < Width; e++)
            load_one(vector.at[e], row.at + number * Width + e, row.has(number * Width + e));
        for (u32 e = 0; e < Width; e++)
            if (row.has(number * Width + e)) best.one(vector.at[e], (u32)(number - from));
    }
}

// Combines the values of `lanes` lanes of a warp.
template <class Value>
__device__ Value lanes_of(Value value, u32 lanes)
{
    for (u32 s = lanes / 2; s > 0; s /= 2) value = join(value, value.from(s));
    return value;
}
