// A slice at any address. The blocks share the aligned vectors, chunk by chunk; the first block
// also adds the elements before the first aligned vector and after the last one.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    __shared__ u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    if (tid < Digits) digits[tid] = 0;
    if (tid == 0) flags = 0;
    Place place(words);
    u64 before = min((u64)((0 - (u64)in) % 16 / sizeof(In)), n), whole = (n - before) / Width;
    const In* body = in + before;
    if (blockIdx.x == 0) {
        u64 after = n - before - whole * Width;
        if (tid < before) place.add(in[tid]);
        if (tid < after) place.add(in[n - 1 - tid]);
    }
    #pragma unroll 1
    for (u32 c = blockIdx.x; c < chunks; c += gridDim.x) {
        u64 i = (u64)c * vectors + tid, end = min((u64)(c + 1) * vectors, whole);
        #pragma unroll 1
        for (; i + (ROWS - 1) * THREADS < end; i += ROWS * THREADS) {
            Vector next[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; r++) load(next[r], body + (i + r * THREADS) * Width, true);
            #pragma unroll
            for (int r = 0; r < ROWS; r++) place.add(next[r]);
        }
        #pragma unroll 1
        for (; i < end; i += THREADS) {
            Vector next = Place::none();
            load(next, body + i * Width, true);
            place.add(next);
        }
        place.empty(digits, &flags);
    }
    conclude(out, state, digits, &flags, n, epoch);
}
