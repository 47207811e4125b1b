// Sums of rows. A block adds one row after another. A row is a slice at any address, in chunks of at most `vectors`
// vectors. Rows begin `pitch` elements apart.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 rows, u64 elements, u64 pitch, u32 vectors, u32, u32, u64*)
{
    __shared__ alignas(16) u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    Flight flight;
    Place place(words);
    #pragma unroll 1
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        if (tid < Digits) digits[tid] = 0;
        if (tid == 0) flags = 0;
        const In* from = in + row * pitch;
        u64 before = min((u64)((0 - (u64)from) % 16 / sizeof(In)), elements), whole = (elements - before) / Width;
        u64 after = elements - before - whole * Width;
        if (tid < before) place.add(from[tid]), place.note(from[tid]);
        if (tid < after) place.add(from[elements - 1 - tid]), place.note(from[elements - 1 - tid]);
        u64 begin = 0;
        #pragma unroll 1
        do {
            const In* at = from + before + begin * Width;
            u32 count = within(begin, vectors, whole);
            flight.start(at, count);
            flight.add(place);
            if (place.special()) Flight::review(place, at, count);
            begin += vectors;
            place.empty(digits, &flags);
            __syncthreads(); // All digits have been updated.
        } while (begin < whole);
        if (tid < 32) {
            Acc result = concluded(digits, flags, elements);
            if (tid == 0) out[row] = result;
        }
        __syncthreads(); // The digits have been rounded.
    }
}
