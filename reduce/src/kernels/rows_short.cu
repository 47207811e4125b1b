// Rows shorter than a word. Where they lie one behind the other, and they and their sums begin with words,
// a thread has as many words as a row has elements: they hold as many rows as a word has lanes.
__device__ Acc row_of(const Word& word)
{
    Sums sums;
    sums.add(word);
    Acc value = sums.all();
    return !Integer && value != value ? nan() : value;
}

#if ALIGNED
// Words of these many in flight.
template <u32 N>
__device__ void words_of(const In* in, Acc* out, u64 m)
{
    const u32 Turns = N < 4 ? 4 / N : 1;
    const u64 groups = m / Lanes, step = (u64)gridDim.x * THREADS;
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * THREADS + threadIdx.x; first < groups; first += step * Turns) {
        union { Word words[N]; In at[N * Lanes]; } run[Turns];
        for (int u = 0; u < Turns; u++)
            for (int i = 0; i < N; i++) load(run[u].words[i], in + ((first + u * step) * N + i) * Lanes, first + u * step < groups);
        for (int u = 0; u < Turns; u++) {
            if (first + u * step >= groups) break;
            const u32 Each = sizeof(Values) / sizeof(Acc);
            for (int v = 0; v < Lanes / Each; v++) {
                Values values;
                for (int r = 0; r < Each; r++) {
                    Word row = blank();
                    for (int e = 0; e < N; e++) row.at[e] = run[u].at[(v * Each + r) * N + e];
                    values.at[r] = row_of(row);
                }
                ((Values*)(out + (first + u * step) * Lanes))[v] = values;
            }
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 unused, u32 none, u32 these, u64* state)
{
    u64 first = 0;
#if ALIGNED
    // A text has to stay short: five to seven halves are read one by one.
    if (n <= 4) first = m / Lanes * Lanes;
    if (n == 1) words_of<1>(in, out, m);
    if (Lanes > 2) {
        if (n == 2) words_of<2>(in, out, m);
        if (n == 3) words_of<3>(in, out, m);
    }
    if (Lanes > 4 && n == 4) words_of<4>(in, out, m);
#endif
    // Element by element what is no whole group, or lies elsewhere.
    const u64 step = (u64)gridDim.x * THREADS;
    #pragma unroll 1
    for (u64 row = first + (u64)blockIdx.x * THREADS + threadIdx.x; row < m; row += step)
        out[row] = row_of(some(in + row * pitch, (u32)n));
}
