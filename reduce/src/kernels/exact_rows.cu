// The sums of rows: a block adds one row after the other. A row is a slice at any address, in chunks of at most
// `vectors` vectors. Rows begin `pitch` elements apart.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 rows, u64 elements, u64 pitch, u32 vectors, u32, u32, u64*)
{
    __shared__ u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    Place place(words);
    #pragma unroll 1
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        if (tid < Digits) digits[tid] = 0;
        if (tid == 0) flags = 0;
        const In* from = in + row * pitch;
        u64 before = min((u64)((0 - (u64)from) % 16 / sizeof(In)), elements), whole = (elements - before) / Width;
        u64 after = elements - before - whole * Width;
        if (tid < before) place.add(from[tid]);
        if (tid < after) place.add(from[elements - 1 - tid]);
        u64 i = tid, end = 0;
        #pragma unroll 1
        do {
            end = min(end + vectors, whole);
            #pragma unroll 1
            for (; i + (ROWS - 1) * THREADS < end; i += ROWS * THREADS) {
                Vector next[ROWS];
                #pragma unroll
                for (int r = 0; r < ROWS; r++) load(next[r], from + before + (i + r * THREADS) * Width, true);
                #pragma unroll
                for (int r = 0; r < ROWS; r++) place.add(next[r]);
            }
            #pragma unroll 1
            for (; i < end; i += THREADS) {
                Vector next = Place::none();
                load(next, from + before + i * Width, true);
                place.add(next);
            }
            place.empty(digits, &flags);
        } while (end < whole);
        // `empty` ends with a barrier after the bins are read, and the digits are deposited before it.
        if (tid == 0) out[row] = concluded(digits, flags, elements);
        __syncthreads(); // The digits are rounded.
    }
}
