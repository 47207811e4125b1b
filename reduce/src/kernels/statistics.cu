// Functions for the statistics of rows of floats, each of which is read by a warp or a block.

__device__ Acc from_double(double value)
{
    Acc result;
    asm("FROM_DOUBLE %0, %1;" : "=" VALUES (result) : "d"(value));
    return result;
}

// Returns the number of vectors of a row, including an incomplete last vector.
__device__ u32 vectors_of(u32 n) { return n / Width + (n % Width > 0); }

// Loads vectors w, w + step, and so on of a row. The elements after the row's end are undefined.
__device__ void gather(Vector (&vectors)[ROWS], const In* row, u32 n, u32 w, u32 step, bool aligned)
{
    #pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        const u64 begin = (u64)(w + r * step) * Width;
        vectors[r].pair[0] = vectors[r].pair[1] = 0;
        if (aligned && begin + Width <= n) load(vectors[r], row + begin, true);
        else if (begin < n) vectors[r] = some(row + begin, n - begin < Width ? (u32)(n - begin) : Width);
    }
}
