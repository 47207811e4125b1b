// Dot products. Vectors with the same number in the two slices are multiplied element by element, and the products are
// added in the tree of a sum. Each product is rounded before it is added.

// Adds the products of the elements of two vectors.
__device__ void multiply(Sums& sums, const Vector& a, const Vector& b)
{
    for (u32 e = 0; e < Width; e++) {
        Local c;
        asm("PRODUCT %0, %1, %2, %3;" : "=" LOCALS (c) : LOCALS (sums.at[e]), OPERANDS (a.at[e]), OPERANDS (b.at[e]));
        sums.at[e] = c;
    }
}

// The chunks with the same index in both slices.
struct Pair { const In *a, *b; u32 vectors, tail; };

__device__ Pair pair(const In* a, const In* b, u64 n, u32 vectors, u32 index)
{
    const Chunk first = chunk(a, n, vectors, index);
    return Pair{first.at, b + (first.at - a), first.vectors, first.tail};
}

// Adds the products of thread `t` of `step` threads. If `together` is true, both slices are aligned.
__device__ void products(Sums& sums, Pair pair, u32 t, u32 step, bool together)
{
    u32 w = t;
    if (together) {
        #pragma unroll 1
        for (; w - t + ROWS * step <= pair.vectors; w += ROWS * step) {
            Vector a[ROWS], b[ROWS];
            #pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                load(a[r], pair.a + (u64)(w + r * step) * Width, true);
                load(b[r], pair.b + (u64)(w + r * step) * Width, true);
            }
            #pragma unroll
            for (u32 r = 0; r < ROWS; r++) multiply(sums, a[r], b[r]);
        }
        // Products of neutral elements do not change the sums.
        Vector a[ROWS], b[ROWS];
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            a[r] = blank(), b[r] = blank();
            load(a[r], pair.a + (u64)(w + r * step) * Width, w + r * step < pair.vectors);
            load(b[r], pair.b + (u64)(w + r * step) * Width, w + r * step < pair.vectors);
        }
        #pragma unroll
        for (u32 r = 0; r < ROWS; r++) multiply(sums, a[r], b[r]);
        // Only the incomplete last vector remains.
        w = pair.vectors % step == t ? pair.vectors : ~0u;
    }
    #pragma unroll 1
    for (; w < pair.vectors + (pair.tail > 0); w += step) {
        const u32 count = w < pair.vectors ? Width : pair.tail;
        multiply(sums, some(pair.a + (u64)w * Width, count), some(pair.b + (u64)w * Width, count));
    }
}
