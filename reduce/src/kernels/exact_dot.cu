// Dot products. The vectors are aligned in the first slice; if the second slice is aligned differently, it is read
// element by element.
__device__ void multiply(Place& place, const Vector& x, const Vector& y)
{
    for (int e = 0; e < Width; e++) place.multiply(x.at[e], y.at[e], e % 2);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* a, const In* b, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    __shared__ alignas(16) u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    if (tid < Digits) digits[tid] = 0;
    if (tid == 0) flags = 0;
    Place place(words);
    u64 before = min((u64)((0 - (u64)a) % 16 / sizeof(In)), n), whole = (n - before) / Width;
    if (blockIdx.x == 0) {
        u64 after = n - before - whole * Width;
        if (tid < before) place.multiply(a[tid], b[tid]), place.note(a[tid], b[tid]);
        u64 last = n - 1 - tid;
        if (tid < after) place.multiply(a[last], b[last]), place.note(a[last], b[last]);
    }
    a += before;
    b += before;
    bool together = (u64)b % 16 == 0;
    #pragma unroll 1
    for (u32 c = blockIdx.x; c < chunks; c += gridDim.x) {
        u64 first = (u64)c * vectors + tid;
        u32 count = within((u64)c * vectors, vectors, whole);
        const In *x = a + first * Width, *y = b + first * Width;
        Vector nextX[ROWS] = {}, nextY[ROWS] = {};
        if (together) {
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                load(nextX[r], x + r * THREADS * Width, tid + r * THREADS < count);
                load(nextY[r], y + r * THREADS * Width, tid + r * THREADS < count);
            }
            #pragma unroll 1
            for (u32 k = tid; k < count; k += ROWS * THREADS) {
                // The next batch is loaded before the current batch is multiplied.
                Vector nowX[ROWS], nowY[ROWS];
                #pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    nowX[r] = nextX[r];
                    nowY[r] = nextY[r];
                }
                x += ROWS * THREADS * Width;
                y += ROWS * THREADS * Width;
                #pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    bool wanted = k + (ROWS + r) * THREADS < count;
                    load(nextX[r], x + r * THREADS * Width, wanted);
                    load(nextY[r], y + r * THREADS * Width, wanted);
                }
                // The products of missing vectors are -0, which does not change the sum.
                if (k + (ROWS - 1) * THREADS >= count)
                    for (int r = 1; r < ROWS; r++)
                        if (k + r * THREADS >= count) blank(nowX[r], true), blank(nowY[r], false);
                #pragma unroll
                for (int r = 0; r < ROWS; r++) multiply(place, nowX[r], nowY[r]);
            }
        }
        #pragma unroll 1
        for (u32 k = tid; k < count && !together; k += THREADS) {
            load(nextX[0], x, true);
            for (int e = 0; e < Width; e++) nextY[0].at[e] = y[e];
            multiply(place, nextX[0], nextY[0]);
            x += THREADS * Width;
            y += THREADS * Width;
        }
        if (place.special()) {
            // The thread's vectors are read again to record their infinities and NaNs.
            x = a + first * Width;
            y = b + first * Width;
            #pragma unroll 1
            for (u32 k = tid; k < count; k += THREADS, x += THREADS * Width, y += THREADS * Width)
                for (int e = 0; e < Width; e++) place.note(x[e], y[e]);
        }
        place.empty(digits, &flags);
    }
    conclude(out, state, digits, &flags, n, epoch);
}
