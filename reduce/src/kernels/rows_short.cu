// Reduces rows shorter than a vector. If the rows are contiguous, and if the rows and their sums are aligned, a thread
// loads as many vectors as a row has elements. These vectors contain as many rows as a vector has elements.
#if ALIGNED && ELEMENT > 1
// Returns the result of a row. Missing elements are skipped, which changes no bit of the result.
template <u32 N>
__device__ Acc row_of(const In* row)
{
    Acc value[N];
    for (int e = 0; e < N; e++) value[e] = Op::value(Op::add(Op::start(), row[e]));
    for (int s = Width / 2; s > 0; s /= 2)
        for (int e = 0; e < s && e + s < N; e++) value[e] = Op::join(value[e], value[e + s]);
    return Op::result(value[0], N);
}

// Adds rows of N elements. Each thread has four vectors in flight, or three if N is 3.
template <u32 N>
__device__ void words_of(const In* in, Acc* out, u64 m)
{
    const u32 Flight = N < 4 ? 4 / N : 1;
    const u64 groups = m / Width, step = (u64)gridDim.x * THREADS;
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * THREADS + threadIdx.x; first < groups; first += step * Flight) {
        union { Vector vectors[N]; In at[N * Width]; } run[Flight];
        for (int u = 0; u < Flight; u++)
            for (int i = 0; i < N; i++) load(run[u].vectors[i], in + ((first + u * step) * N + i) * Width, first + u * step < groups);
        for (int u = 0; u < Flight; u++) {
            if (first + u * step >= groups) break;
            const u32 Each = sizeof(Values) / sizeof(Acc);
            for (int v = 0; v < Width / Each; v++) {
                Values values;
                for (int r = 0; r < Each; r++) values.at[r] = row_of<N>(run[u].at + (v * Each + r) * N);
                ((Values*)(out + (first + u * step) * Width))[v] = values;
            }
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 unused, u32 none, u32 these, u64* state)
{
    u64 first = 0;
#if ALIGNED && ELEMENT > 1
    // Rows of five to seven halves are read element by element, so that the PTX stays short.
    if (n <= 4) first = m / Width * Width;
    if (n == 1) words_of<1>(in, out, m);
    if (Width > 2) {
        if (n == 2) words_of<2>(in, out, m);
        if (n == 3) words_of<3>(in, out, m);
    }
    if (Width == 8 && n == 4) words_of<4>(in, out, m);
#endif
    // The remaining rows, and rows with a pitch, are read element by element.
    const u64 step = (u64)gridDim.x * THREADS;
    #pragma unroll 1
    for (u64 row = first + (u64)blockIdx.x * THREADS + threadIdx.x; row < m; row += step) {
        Sums sums;
        sums.add(some(in + row * pitch, (u32)n));
        out[row] = Op::result(sums.all(), n);
    }
}
