// Adds the chunks of a shard, and exchanges their values with the other GPUs of this host in the same launch. Each
// block publishes its chunk's value to all GPUs, and the last block consumes the messages of all chunks.
//
// Each store to a slot holds 32 bits of a value and the epoch, which is the number of the call. Slots therefore need no
// clearing, and a late message of an abandoned call is not mistaken for a message of this call. There are two sets of
// slots, for even and odd epochs: a GPU that is ahead may publish for the next call while another GPU still polls for
// this call. A GPU cannot be two calls ahead, because it first consumes the messages of the next call from all GPUs.

// ANCHOR: message
__device__ void publish(u64* slot, Acc value, u32 epoch)
{
    union { Acc value; u32 half[Halves]; } bits;
    bits.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                     :: "l"(slot + h), "l"((u64)epoch << 32 | bits.half[h]) : "memory");
}

__device__ u64 poll(const u64* slot)
{
    u64 bits;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(bits) : "l"(slot) : "memory");
    return bits;
}
// ANCHOR_END: message

// Consumes this thread's messages in order. There are `count` messages in total. Several loads are in flight, because
// the longest sums have 32 values per thread. After `patience` failed polls, stores the number of the missing chunk.
__device__ Acc consume(const u64* slots, u32 count, u32 threads, u32 epoch, u32 patience, u32* missing)
{
    const int Flight = 8 / Halves;
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += Flight * threads) {
        u64 loaded[Flight][Halves];
        for (int k = 0; k < Flight; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * threads;
                loaded[k][h] = i < count ? poll(slots + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < Flight; k++) {
            u32 i = first + k * threads;
            if (i >= count) break;
            union { Acc value; u32 half[Halves]; } bits;
            for (int h = 0; h < Halves; h++) {
                while ((u32)(loaded[k][h] >> 32) != epoch) {
                    if (patience-- == 0) {
                        atomicMin(missing, i);
                        return value;
                    }
                    loaded[k][h] = poll(slots + (u64)i * Halves + h);
                }
                bits.half[h] = (u32)loaded[k][h];
            }
            value = Op::join(value, bits.value);
        }
    }
    return value;
}

// For each rank, `slots` has the address of the slots on the rank's GPU. This shard has `chunks` chunks, starting with
// `first`, of `count` chunks in total. If `told` is 0, the result is for later work in the stream; otherwise, a host
// thread polls for it. With a patience of 0, the kernel only publishes; ranks that share a GPU and run one after
// another need this.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 vectors, u32 chunks, u64* state, u32 epoch, u32 told,
    u32 first, u32 count, u64* const* slots, u32 world, u32 rank, u32 patience)
{
    const u32 Warps = THREADS / 32, Set = 16384 * Halves;
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2], missing;
    u32 set = 0;
    u64* slot = threadIdx.x < world ? slots[threadIdx.x] + epoch % 2 * Set : nullptr;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < chunks; set ^= 1) {
        if (threadIdx.x == 0) next[set] = draw(state, chunks);
        Acc value = whole(chunk(in, n, vectors, p), in);
        if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = value;
        __syncthreads();
        // One thread publishes to each GPU.
        if (threadIdx.x < world)
            publish(slot + (u64)(first + p) * Halves, few(warps[set], Warps), epoch);
        p = next[set];
    }
    if (blockIdx.x < gridDim.x - 1 || patience == 0) return;
    if (threadIdx.x == 0) missing = ~0u;
    __syncthreads();
    u32 threads = count <= 128 ? 32 : THREADS;
    slot = slots[rank] + epoch % 2 * Set;
    Acc value = Op::none();
    if (threadIdx.x < threads)
        value = warp(consume(slot, count, threads, epoch, patience, &missing));
    if (threadIdx.x % 32 == 0) warps[set][threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (missing != ~0u) fail(out, epoch, missing);
    else store(out, threads > 32 ? few(warps[set], Warps) : value, 0, told);
}
