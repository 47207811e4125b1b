// A shard's parts, and the exchange with the other GPUs of this host in the same launch: each block
// posts its part's value to all of them, and the last block waits for the mail of all parts.
//
// A box holds a value and the call's number, its epoch, in one store. So nobody clears a box, and late
// mail of a call that was given up is not taken for this one's. There are two sets of boxes, for even
// and odd epochs: a GPU that is ahead may post the next call's mail while another still reads, and not
// the one after, as it needs that one's mail first.

__device__ void send(u64* box, Acc value, u32 epoch)
{
    union { Acc value; u32 half[Halves]; } parts;
    parts.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                     :: "l"(box + h), "l"((u64)epoch << 32 | parts.half[h]) : "memory");
}

__device__ u64 look(const u64* box)
{
    u64 word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(box) : "memory");
    return word;
}

// A thread's share of `count` values, in their order: so many words asked for at once, as the longest
// sums have 32 values a thread. It looks `patience` times for what has not come, and then says which part
// is missing.
__device__ Acc await(const u64* box, u32 count, u32 threads, u32 epoch, u32 patience, u32* missing)
{
    const int Asked = 8 / Halves;
    Acc value = Op::none();
    #pragma unroll 1
    for (u32 first = threadIdx.x; first < count; first += Asked * threads) {
        u64 words[Asked][Halves];
        for (int k = 0; k < Asked; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * threads;
                words[k][h] = i < count ? look(box + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < Asked; k++) {
            u32 i = first + k * threads;
            if (i >= count) break;
            union { Acc value; u32 half[Halves]; } parts;
            for (int h = 0; h < Halves; h++) {
                while ((u32)(words[k][h] >> 32) != epoch) {
                    if (patience-- == 0) {
                        atomicMin(missing, i);
                        return value;
                    }
                    words[k][h] = look(box + (u64)i * Halves + h);
                }
                parts.half[h] = (u32)words[k][h];
            }
            value = Op::join(value, parts.value);
        }
    }
    return value;
}

// `boxes` are those of every GPU, this one's that of `rank`. Its parts are the `parts` from `first` on,
// of `count` in all. The result goes to the stream if `told` is 0, or to a host that waits for it.
// Nobody waits whose patience is 0: so ranks that share a GPU post, one after the other.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch, u32 told,
    u32 first, u32 count, u64* const* boxes, u32 world, u32 rank, u32 patience)
{
    const u32 Warps = THREADS / 32, Set = 16384 * Halves;
    __shared__ alignas(16) Acc warps[2][Warps];
    __shared__ u32 next[2], missing;
    u32 turn = 0;
    u64* box = threadIdx.x < world ? boxes[threadIdx.x] + epoch % 2 * Set : nullptr;
    #pragma unroll 1
    for (u32 p = blockIdx.x; p < parts; turn ^= 1) {
        if (threadIdx.x == 0) next[turn] = draw(state, parts);
        Acc value = whole(part(in, n, words, p), in);
        if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = value;
        __syncthreads();
        // A thread for each GPU.
        if (threadIdx.x < world)
            send(box + (u64)(first + p) * Halves, few(warps[turn], Warps), epoch);
        p = next[turn];
    }
    if (blockIdx.x < gridDim.x - 1 || patience == 0) return;
    if (threadIdx.x == 0) missing = ~0u;
    __syncthreads();
    u32 threads = count <= 128 ? 32 : THREADS;
    box = boxes[rank] + epoch % 2 * Set;
    Acc value = Op::none();
    if (threadIdx.x < threads)
        value = warp(await(box, count, threads, epoch, patience, &missing));
    if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (missing != ~0u) tell(out, epoch, missing);
    else store(out, threads > 32 ? few(warps[turn], Warps) : value, told);
}
