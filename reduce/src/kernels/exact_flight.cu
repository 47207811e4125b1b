// Adds a chunk of aligned vectors, in batches whose loads are in flight together. A branch separates the loads
// from the additions; without it, ptxas would move most loads after accesses to shared memory. There is no load
// between two additions of a batch, because the second addition would wait for it.
struct Flight {
    Vector next[ROWS];
    const In* at;
    u32 count;

    // Loads the first batch. Missing vectors are not initialized.
    __device__ __forceinline__ void start(const In* from, u32 vectors)
    {
        at = from + threadIdx.x * Width;
        count = vectors;
        #pragma unroll
        for (int r = 0; r < ROWS; r++) fetch(r, threadIdx.x);
    }

    __device__ __forceinline__ void fetch(int r, u32 k)
    {
        load(next[r], at + r * THREADS * Width, k + r * THREADS < count);
    }

    // Adds all vectors. The next batch is loaded before the current batch is added. The elements of missing vectors are
    // -0, which does not change the sum.
    __device__ __forceinline__ void add(Place& place)
    {
        #pragma unroll 1
        for (u32 k = threadIdx.x; k < count; k += ROWS * THREADS) {
            Vector now[ROWS];
            at += ROWS * THREADS * Width;
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                now[r] = next[r];
                fetch(r, k + ROWS * THREADS);
            }
            if (k + (ROWS - 1) * THREADS >= count)
                for (int r = 1; r < ROWS; r++) if (k + r * THREADS >= count) blank(now[r], true);
            #pragma unroll
            for (int r = 0; r < ROWS; r++) place.add(now[r]);
        }
    }

    // Reads the thread's vectors of a chunk again to record their infinities and NaNs.
    __device__ static void review(Place& place, const In* from, u32 count)
    {
        #pragma unroll 1
        for (u32 k = threadIdx.x; k < count; k += THREADS)
            for (int e = 0; e < Width; e++) place.note(from[(u64)k * Width + e]);
    }
};
