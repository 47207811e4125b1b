// Dot products: a double holds the product of two floats. Whole vectors of the first slice start at
// a multiple of 16 bytes; if the second slice is aligned differently, it is read element by element.
__device__ double product(In a, In b) { return (double)widen(a) * (double)widen(b); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* a, const In* b, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    __shared__ u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    if (tid < Digits) digits[tid] = 0;
    if (tid == 0) flags = 0;
    Place place(words);
    u64 before = min((u64)((0 - (u64)a) % 16 / sizeof(In)), n), whole = (n - before) / Width;
    if (blockIdx.x == 0) {
        u64 after = n - before - whole * Width;
        if (tid < before) place.add(product(a[tid], b[tid]));
        if (tid < after) place.add(product(a[n - 1 - tid], b[n - 1 - tid]));
    }
    a += before;
    b += before;
    bool together = (u64)b % 16 == 0;
    #pragma unroll 1
    for (u32 c = blockIdx.x; c < chunks; c += gridDim.x) {
        u64 first = (u64)c * vectors, end = min(first + vectors, whole);
        #pragma unroll 1
        for (u64 i = first + tid; i < end; i += ROWS * THREADS) {
            Vector x[ROWS], y[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                u64 at = (i + r * THREADS) * Width;
                bool wanted = i + r * THREADS < end;
                x[r] = y[r] = Place::none();
                load(x[r], a + at, wanted);
                load(y[r], b + at, wanted && together);
                if (wanted && !together) for (int e = 0; e < Width; e++) y[r].at[e] = b[at + e];
            }
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                // The product of missing elements would be +0 instead of -0.
                if (i + r * THREADS >= end) break;
                for (int e = 0; e < Width; e += 2)
                    place.add(product(x[r].at[e], y[r].at[e]), product(x[r].at[e + 1], y[r].at[e + 1]));
            }
        }
        place.empty(digits, &flags);
    }
    conclude(out, state, digits, &flags, n, epoch);
}
