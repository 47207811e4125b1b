// Reduces a slice at any address. The blocks share its aligned vectors, chunk by chunk; the first block also adds the
// elements before the first aligned vector and after the last one.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    __shared__ alignas(16) u32 words[Place::Words];
    __shared__ u64 digits[Digits];
    __shared__ u32 flags;
    u32 tid = threadIdx.x;
    if (tid < Digits) digits[tid] = 0;
    if (tid == 0) flags = 0;
    u64 before = min((u64)((0 - (u64)in) % 16 / sizeof(In)), n), whole = (n - before) / Width;
    const In* body = in + before;
    Flight flight;
    u32 c = blockIdx.x;
    flight.start(body + (u64)c * vectors * Width, within((u64)c * vectors, vectors, whole));
    Place place(words);
    if (c == 0) {
        u64 after = n - before - whole * Width;
        if (tid < before) place.add(in[tid]), place.note(in[tid]);
        if (tid < after) place.add(in[n - 1 - tid]), place.note(in[n - 1 - tid]);
    }
    #pragma unroll 1
    do {
        flight.add(place);
        u64 first = (u64)c * vectors;
        if (place.special()) Flight::review(place, body + first * Width, within(first, vectors, whole));
        c += gridDim.x;
        first = (u64)c * vectors;
        if (c < chunks) flight.start(body + first * Width, within(first, vectors, whole));
        place.empty(digits, &flags);
    } while (c < chunks);
    conclude(out, state, digits, &flags, n, epoch);
}
