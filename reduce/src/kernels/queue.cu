// Reduces slices of any length, whose chunks are in a queue. Each slice is added in the order that its length
// prescribes, and each block draws a ticket for its next chunk. Blocks publish the values of chunks, and the block with
// the last chunk of a slice, which begins after the others, consumes them. The values of all slices are combined in the
// same way.

// A chunk, with its slice and the slice's shape. `slot` is the first slot of the slice's messages, and `index` is the
// index of its result.
struct Item { const In* in; u64 n, index; u32 slot, chunk, vectors, chunks, threads, unused; };
enum : u32 { Warps = THREADS / 32, Words = sizeof(Item) / 4 };

// Adds the vectors of thread `t` of the tree.
__device__ void thread_of(Sums& sums, Chunk chunk, u32 t, u32 threads)
{
    u32 w = t;
    if ((u64)chunk.at % 16 == 0) {
        if (threads == THREADS) return batches<THREADS, ROWS>(sums, chunk);
        #pragma unroll 1
        for (; w < chunk.vectors; w += ROWS * threads) {
            Vector vectors[ROWS];
            #pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                vectors[r] = blank();
                load(vectors[r], chunk.at + (u64)(w + r * threads) * Width, w + r * threads < chunk.vectors);
            }
            #pragma unroll
            for (u32 r = 0; r < ROWS; r++) sums.add(vectors[r]);
        }
        // Only the incomplete last vector remains.
        w = chunk.vectors % threads == t ? chunk.vectors : ~0u;
    }
    #pragma unroll 1
    for (; w < chunk.vectors + (chunk.tail > 0); w += threads)
        sums.add(some(chunk.at + (u64)w * Width, w < chunk.vectors ? Width : chunk.tail));
}

// Combines `count` messages. Thread 0 gets the value.
__device__ Acc combined(u64* slots, u32 count, Acc* warps)
{
    const u32 threads = count <= 128 ? 32 : THREADS;
    Acc value = Op::none();
    if (threadIdx.x < threads) value = warp(collect(slots, count, threads));
    if (threads == 32) return value;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    return threadIdx.x == 0 ? few(warps, Warps) : value;
}

// The queue has `count` items. If `made` is not null, made[0] is the number of items, which is at most `count`; the
// last block to finish clears the three words of `made`. `out` and `total` may be null. The slices have `elements`
// elements in total. `state` has the next ticket and the messages of chunks; `totals` has the messages of slices.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const Item* items, u64* made, u64 count, Acc* out, Acc* total, u64 slices, u64 elements, u64* state, u64* totals)
{
    // There are two sets of values, and of items: while one thread combines one set, the others fill the next.
    __shared__ alignas(16) Acc warps[2][32], others[2][Warps];
    __shared__ union { Item item; u32 word[Words]; } now[2];
    __shared__ u64 next[2];
    const u32 t = threadIdx.x;
    if (made && made[0] < count) count = made[0];
    if (t < Words && blockIdx.x < count) now[0].word[t] = ((const u32*)(items + blockIdx.x))[t];
    if (t == 0) next[0] = (u64)blockIdx.x + gridDim.x;
    __syncthreads();
    u32 set = 0;
    #pragma unroll 1
    for (u64 place = blockIdx.x; place < count; set ^= 1) {
        const Item item = now[set].item;
        // The next item and the ticket of the one after it arrive while this item is added. A launch draws as many
        // tickets as there are items, so the counter wraps to its initial value.
        const u64 ahead = next[set];
        u32 word = 0, ticket = 0;
        if (t < Words && ahead < count) word = ((const u32*)(items + ahead))[t];
        if (t == 0) ticket = atomicInc((u32*)state, (u32)count - 1);
        const bool spread = item.chunks > 1 && item.threads == 256;
        const Chunk chunk = ::chunk(item.in, item.n, item.vectors, item.chunk);
        #pragma unroll 1
        for (u32 thread = t; thread < item.threads; thread += THREADS) {
            Sums sums;
            thread_of(sums, chunk, thread, item.threads);
            const Acc value = warp(sums.all());
            if (thread % 32 == 0) warps[set][thread / 32] = value;
        }
        if (t < 32 && t >= item.threads / 32) warps[set][t] = Op::none();
        if (t < Words) now[set ^ 1].word[t] = word;
        if (t == 0) next[set ^ 1] = 2ull * gridDim.x + ticket;
        __syncthreads();
        place = ahead;
        u64* slots = state + 2 + (u64)item.slot * Halves;
        Acc value = Op::none();
        if (t == 0 && !spread) value = few(warps[set], 32);
        if (item.chunks > 1) {
            if (spread && t < 8) publish(slots + (item.chunk * 8 + t) * Halves, warps[set][t]);
            if (!spread && t == 0) publish(slots + item.chunk * Halves, value);
            if (item.chunk < item.chunks - 1) continue;
            value = combined(slots, spread ? item.chunks * 8 : item.chunks, others[0]);
        }
        if (t == 0) {
            if (out) out[item.index] = Op::result(item.n > 0 ? value : Op::empty(), item.n);
            if (total) publish(totals + item.index * Halves, value);
        }
        if (!total || item.index < slices - 1) continue;
        // Thread 0 may still be reading `others[0]`.
        value = combined(totals, (u32)slices, others[1]);
        if (t == 0) *total = Op::result(elements > 0 ? value : Op::empty(), elements);
    }
    if (!made) return;
    // The last block clears the number of items after all blocks have read it.
    __syncthreads();
    if (t > 0) return;
    __threadfence();
    const bool last = atomicInc((u32*)(made + 2), gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
    if (last) made[0] = made[1] = 0;
}
