// Searches slices, and rows that one or more blocks read. Each block reads one chunk after another. If a row has
// several chunks, blocks publish their values, and the block with the row's last chunk, which begins after the others,
// consumes them. For a single row, blocks draw tickets from `state`, so that blocks that are ahead read more chunks.

// Publishes a value. Each store has 32 bits of the value and a flag, so no fence is needed. An empty slot is zero.
__device__ void publish(u64* slot, Value value)
{
    for (u32 i = 0; i < Value::Words; i++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(slot + i), "l"(1ull << 32 | value.word(i)) : "memory");
}

// Polls a slot until it is filled, and then empties it.
__device__ Value consume(u64* slot)
{
    u32 words[Value::Words];
    for (u32 i = 0; i < Value::Words; i++) {
        u64 bits;
        do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(slot + i) : "memory");
        while (bits >> 32 == 0);
        asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(slot + i) : "memory");
        words[i] = (u32)bits;
    }
    return Value::of(words);
}

// Combines the values of a block's threads. Warp 0 gets the result.
__device__ Value block_of(Value value, Value* warps)
{
    const u32 t = threadIdx.x, lane = t % 32;
    value = lanes_of(value, 32);
    if (lane == 0) warps[t / 32] = value;
    __syncthreads();
    if (t >= 32) return value;
    return lanes_of(warps[lane % (THREADS / 32)], THREADS / 32);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* first, void* second, u64 m, u64 n, u64 pitch, u32 vectors, u32 chunks, u64* state, u32 epoch)
{
    // There are two sets of values: while one warp combines one set, the others fill the next.
    __shared__ Value warps[2][THREADS / 32];
    __shared__ u32 next[2];
    const u64 items = m * chunks;
    const bool tickets = m == 1 && chunks > gridDim.x;
    u32 set = 0;
    #pragma unroll 1
    for (u64 item = blockIdx.x; item < items; set ^= 1) {
        const u64 index = item / chunks;
        const u32 chunk = (u32)(item % chunks);
        const Row row = row_at(in + index * pitch, n);
        const u64 all = row.vectors(), from = (u64)chunk * vectors < all ? (u64)chunk * vectors : all;
        // A launch draws as many tickets as there are chunks, so the counter wraps to its initial value.
        if (tickets && threadIdx.x == 0) next[set] = atomicInc((u32*)state, chunks - 1) + gridDim.x;
        Best best;
        scan(best, row, from, all - from < vectors ? all : from + vectors, all, threadIdx.x, THREADS);
        Value value = block_of(best.all(from), warps[set]);
        item = tickets ? next[set] : item + gridDim.x;
        if (chunks > 1) {
            u64* slots = state + 2 + index * chunks * Value::Words;
            if (threadIdx.x == 0) publish(slots + chunk * Value::Words, value);
            if (chunk < chunks - 1) continue;
            value = Value::none();
            #pragma unroll 1
            for (u32 i = threadIdx.x; i < chunks; i += THREADS) value = join(value, consume(slots + i * Value::Words));
            set ^= 1;
            value = block_of(value, warps[set]);
        }
        if (threadIdx.x == 0) put(row, value, n, first, second, index, epoch);
    }
}
