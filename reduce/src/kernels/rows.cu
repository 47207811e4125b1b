// Rows: m of them, of n elements, `pitch` apart. Each is added in the order of a slice of n, so words are
// counted from its first element, wherever that lies.
//
// Memory is read by its own words. Where all rows begin with one, with ALIGNED, that is a word of the row;
// elsewhere a word of the row is made of two of memory. What lies in a word of memory that reaches
// beyond the slice is read element by element: such words are at the edges, in the first row and the last.
enum : bool { Aligned = ALIGNED };

struct Edges {
    u32 early;  // words at the beginning of the first row: 0 or 1
    u32 fits;   // words of the last row before those at its end
};

struct Rows { const In* in; u64 m, n, pitch; u32 words, last; };

__device__ Rows rows_of(const In* in, u64 m, u64 n, u64 pitch)
{
    return Rows{in, m, n, pitch, (u32)((n + Lanes - 1) / Lanes), (u32)((n - 1) % Lanes) + 1};
}

__device__ u32 skip(const In* at) { return (u32)(u64)at & 15; }

__device__ Edges edges(const Rows& rows)
{
    const In* row = rows.in + (rows.m - 1) * rows.pitch;
    u32 skips = Aligned ? 0 : skip(row);
    // Words of memory that are whole, from where the last row begins: of its last word all are needed
    // that have an element, and of those before it two, or one where they are the same.
    u64 whole = (skips + rows.n * sizeof(In)) / 16;
    u32 fits = rows.words;
    if (rows.words - 1 + (skips + rows.last * sizeof(In) > 16) >= whole) fits = rows.words - 1;
    if (fits < rows.words && fits > 0 && fits - 1 + (skips > 0) >= whole) fits--;
    return Edges{!Aligned && skip(rows.in) > 0, fits};
}

// One word of a row: two of memory, until it is needed.
struct Pair { Word low, high; };

// Has a word loaded that begins at `at`, of which `left` elements are the row's.
__device__ void fetch(Pair& pair, const In* at, u32 left, bool wanted)
{
    pair.low = blank();
    if (Aligned) {
        load(pair.low, at, wanted);
    } else {
        u32 skips = skip(at);
        const In* low = at - skips / sizeof(In);
        pair.high = blank();
        load(pair.low, low, wanted);
        load(pair.high, low + Lanes, wanted && skips + left * sizeof(In) > 16);
    }
}

// The word, with nothing where the row has ended.
__device__ Word taken(const Pair& pair, const In* at, u32 left)
{
    Word word = pair.low;
    if (!Aligned) {
        u32 skips = skip(at), part[8];
        for (int p = 0; p < 4; p++) part[p] = pair.low.part[p], part[p + 4] = pair.high.part[p];
        for (int p = 0; p < 6; p++) part[p] = skips & 8 ? part[p + 2] : part[p];
        if (sizeof(In) <= 4) for (int p = 0; p < 5; p++) part[p] = skips & 4 ? part[p + 1] : part[p];
        if (sizeof(In) <= 2)
            for (int p = 0; p < 4; p++) part[p] = skips & 2 ? part[p] >> 16 | part[p + 1] << 16 : part[p];
        for (int p = 0; p < 4; p++) word.part[p] = part[p];
    }
    // Of a sum nothing is zero, in all bits.
    const u32 bytes = left * sizeof(In);
    if (bytes < 16)
        for (int p = 0; p < 4; p++) {
            if (sizeof(In) == 2 && bytes == 4 * p + 2) word.part[p] &= 0xffff;
            else if (bytes <= 4 * p) word.part[p] = 0;
        }
    return word;
}

// Elements of word w.
__device__ u32 left(const Rows& rows, u32 w) { return w == rows.words - 1 ? rows.last : Lanes; }

// What a thread that has words t, t + step, … adds before all others, of a first row with an edge.
__device__ void first_edge(Sums& sums, const Rows& rows, const Edges& edges, u32 t)
{
    if (edges.early > 0 && t == 0) sums.add(some(rows.in, left(rows, 0)));
}

// The word at the end of the last row that a thread with words t, t + step, … adds after all others;
// `words` if there is none. Steps are powers of two, above one where there are two words.
__device__ u32 last_edge(const Rows& rows, const Edges& edges, u32 t, u32 step)
{
    u32 w = rows.words - 1;
    if ((w & (step - 1)) != t && w > 0) w--;
    // Of one row, and one word, that has been added.
    bool before = rows.m == 1 && w < edges.early;
    return w >= edges.fits && (w & (step - 1)) == t && !before ? w : rows.words;
}

__device__ Sums last_word(const Rows& rows, u32 w)
{
    Sums sums;
    if (w < rows.words) sums.add(some(rows.in + (rows.m - 1) * rows.pitch + (u64)w * Lanes, left(rows, w)));
    return sums;
}

__device__ void join(Sums& sums, const Sums& end)
{
    for (int e = 0; e < Lanes; e++) sums.at[e] = Op::join(sums.at[e], end.at[e]);
}

// Half of the values are handed to the lane that is `s` away, which joins them to its own: lanes in whose
// number bit s is set have the upper half.
template <u32 Count>
__device__ void trade(Acc* values, u32 s)
{
    bool upper = threadIdx.x & s;
    for (int i = 0; i < Count / 2; i++) {
        Acc mine = upper ? values[i + Count / 2] : values[i], theirs = upper ? values[i] : values[i + Count / 2];
        values[i] = Op::join(mine, __shfl_xor_sync(~0u, theirs, s));
    }
}
