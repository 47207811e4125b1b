// Ragged rows: row r has elements offsets[r] to offsets[r + 1] - 1. One lane adds a row of at most one vector, and one
// warp adds a row of at most 2 KiB. The chunks of longer rows are put into a queue; each warp puts its rows there in
// increasing order.

struct Item { const In* in; u64 n, index; u32 slot, chunk, vectors, chunks, threads, unused; };

// Returns the shape of a slice, as shape.rs does.
__device__ Item shape_of(u64 n)
{
    const u64 bytes = n * sizeof(In), vectors = (bytes + 15) / 16;
    Item item{};
    u64 count = 1, each = 0;
    item.threads = 512;
    if (bytes <= 16 << 10) item.threads = 256;
    else if (bytes <= 48 << 10) item.threads = 1024;
    else if (bytes <= 192 << 10) item.threads = 256, count = 8;
    else if (bytes <= 1536 << 10) count = 32;
    else if (bytes <= 2560 << 10) count = 48;
    else if (bytes <= 8 << 20) count = 160;
    else if (bytes <= 16 << 20) count = 256;
    else if (bytes <= 24 << 20) count = 192;
    else if (bytes <= 1280ull << 20) count = 256;
    else {
        each = 512 << 10;
        while (each * 16384 < bytes) each *= 2;
        each /= 16;
    }
    if (count == 1 && each == 0) each = item.threads * 4ull;
    else if (each == 0) each = ((vectors + count - 1) / count + 7) / 8 * 8;
    item.vectors = (u32)each;
    item.chunks = count == 1 && item.threads != 512 ? 1 : (u32)((vectors + each - 1) / each);
    return item;
}

// The queue and its capacity, in items and in messages. `made` counts the items and the messages.
struct Queue { Item* items; u64 *made, *bad; u64 capacity, messages; };

// Records a row that cannot be added. The word is the complement of the first such row's number, or 0 if there is none.
__device__ void refuse(u64* bad, u64 row) { atomicMax((unsigned long long*)bad, (unsigned long long)~row); }

// Appends the chunks of a long row to the queue. If offsets decrease, rows overlap, and the queue may be too small; the
// row must then be added as an empty row, and the function returns false.
__device__ bool put(const Queue& queue, const In* in, u64 n, u64 index)
{
    const u32 lane = threadIdx.x % 32;
    Item item = shape_of(n);
    item.in = in, item.n = n, item.index = index;
    const u32 slots = item.chunks == 1 ? 0 : item.threads == 256 ? item.chunks * 8 : item.chunks;
    u64 first = 0, slot = 0;
    if (lane == 0) {
        first = atomicAdd((unsigned long long*)queue.made, (unsigned long long)item.chunks);
        slot = atomicAdd((unsigned long long*)(queue.made + 1), (unsigned long long)slots);
    }
    first = __shfl_sync(~0u, first, 0), slot = __shfl_sync(~0u, slot, 0);
    item.slot = (u32)slot;
    const u32 chunks = item.chunks;
    if (first + chunks > queue.capacity || slot + slots > queue.messages) {
        item.n = 0, item.chunks = 1, item.vectors = 32, item.threads = 32;
        if (lane == 0) refuse(queue.bad, index);
    }
    #pragma unroll 1
    for (u32 c = lane; c < chunks && first + c < queue.capacity; c += 32) {
        item.chunk = item.n > 0 ? c : 0;
        queue.items[first + c] = item;
    }
    return item.n > 0;
}

// Offsets have 64 bits if `wide` is nonzero, and otherwise 32 bits. A row that ends before it begins, or after element
// `most`, is added as an empty row and recorded in `bad`.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, const void* offsets, u32 wide, u64 most, Acc* out, u64 m, Item* items, u64 capacity,
    u64 messages, u64* made, u64* bad)
{
    const u32 lane = threadIdx.x % 32;
    const u64 step = (u64)gridDim.x * THREADS;
    const Queue queue{items, made, bad, capacity, messages};
    auto offset = [&](u64 row) { return wide ? ((const u64*)offsets)[row] : (u64)((const u32*)offsets)[row]; };
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * THREADS + threadIdx.x - lane; first < m; first += step) {
        const u64 row = first + lane;
        u64 begin = 0, end = 0;
        if (row < m) begin = offset(row), end = offset(row + 1);
        if (end < begin || end > most) {
            refuse(bad, row);
            begin = end = 0;
        }
        const u64 n = end - begin;
        if (row < m && n <= Width) {
            Sums sums;
            sums.add(some(in + begin, (u32)n));
            out[row] = Op::result(n > 0 ? sums.all() : Op::empty(), n);
        }
        // All lanes share the work of each longer row.
        u32 longer = __ballot_sync(~0u, n > Width);
        #pragma unroll 1
        while (longer) {
            const u32 from = __ffs(longer) - 1;
            longer &= longer - 1;
            const u64 at = __shfl_sync(~0u, begin, from);
            u64 count = __shfl_sync(~0u, n, from);
            if (count * sizeof(In) > 2048) {
                if (put(queue, in + at, count, first + from)) continue;
                count = 0;
            }
            Sums sums;
            const u32 vectors = ((u32)count + Width - 1) / Width;
            const bool aligned = (u64)(in + at) % 16 == 0;
            #pragma unroll 1
            for (u32 w = lane; w < vectors; w += 32) {
                const u32 rest = (u32)count - w * Width;
                Vector vector = blank();
                if (aligned && rest >= Width) load(vector, in + at + w * Width, true);
                else vector = some(in + at + w * Width, rest < Width ? rest : Width);
                sums.add(vector);
            }
            const Acc value = warp(sums.all());
            if (lane == 0) out[first + from] = Op::result(count > 0 ? value : Op::empty(), count);
        }
    }
}
