// A sum, minimum or maximum in one launch: one block, one cluster, or chunks and a mailbox.
// Still costs: a launch, and the memory's own time.
// Needs compute_70: relaxed loads and stores at gpu scope. With compute_90 it has clusters too.
//
// In is what an element is loaded as, Acc what it is added as; HALF and BFLOAT say how one becomes
// the other.
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(16) Word { In at[16 / sizeof(In)]; };
const u32 Lanes = 16 / sizeof(In), Threads = 512, Warps = 16, Rows = 32, Step = Rows * 32 * Lanes;
const u32 Halves = sizeof(Acc) / 4;

__device__ Acc widen(In value)
{
#if defined(HALF)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#elif defined(BFLOAT)
    return __uint_as_float((u32)value << 16);
#else
    return value;
#endif
}

// What nothing adds up to. A float's extremes are infinities, an integer's are computed.
const bool Integer = (Acc)0.5 == (Acc)0, Signed = (Acc)-1 < (Acc)0;
__device__ Acc extreme(bool largest)
{
    if (!Integer) return largest ? (Acc)__int_as_float(0x7f800000) : (Acc)-__int_as_float(0x7f800000);
    Acc top = (Acc)(~0ull >> (64 - 8 * sizeof(Acc) + (Signed ? 1 : 0)));
    return largest ? top : Signed ? (Acc)(-top - (Acc)1) : (Acc)0;
}

// A NaN is passed over by min and max, unless there is nothing else.
struct Sum {
    __device__ static Acc none() { return 0; }
    __device__ static Acc join(Acc a, Acc b) { return a + b; }
};
struct Min {
    __device__ static Acc none() { return extreme(true); }
    __device__ static Acc join(Acc a, Acc b) { return b < a || a != a ? b : a; }
};
struct Max {
    __device__ static Acc none() { return extreme(false); }
    __device__ static Acc join(Acc a, Acc b) { return b > a || a != a ? b : a; }
};

template <class Op>
__device__ Acc warp(Acc value)
{
    for (int s = 16; s > 0; s /= 2) value = Op::join(value, __shfl_down_sync(0xffffffff, value, s));
    return value;
}

// A word in one load where it is one, element by element where it lies across two.
template <class Op, bool Aligned>
__device__ void add(Acc* sums, const In* at)
{
    Word word;
    if (Aligned) word = *(const Word*)at;
    else for (int e = 0; e < Lanes; e++) word.at[e] = at[e];
    for (int e = 0; e < Lanes; e++) sums[e] = Op::join(sums[e], widen(word.at[e]));
}

// A word of which perhaps only the first elements are there.
template <class Op>
__device__ void add_rest(Acc* sums, const In* at, u32 left)
{
    for (int e = 0; e < Lanes; e++) if (e < left) sums[e] = Op::join(sums[e], widen(at[e]));
}

template <class Op>
__device__ Acc lanes(Acc* sums)
{
    for (int s = Lanes / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] = Op::join(sums[e], sums[e + s]);
    return sums[0];
}

// The values of all warps to one, in thread 0.
template <class Op>
__device__ Acc block(Acc value, Acc* warps)
{
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) value = warp<Op>(threadIdx.x < Warps ? warps[threadIdx.x] : Op::none());
    return value;
}

// What fits one tile a block: all words in flight before the first is added.
template <class Op, u32 Words>
__device__ Acc tile(const In* in, u64 n)
{
    const u32 stride = Threads * Lanes;
    Word words[Words];
    Acc sums[Lanes];
    u64 i = (u64)blockIdx.x * (Words * stride) + threadIdx.x * Lanes, whole = n - n % Lanes;
    for (int e = 0; e < Lanes; e++) sums[e] = Op::none();
    if ((u64)in % 16 == 0) {
        for (int w = 0; w < Words; w++)
            if (i + w * stride < whole) words[w] = *(const Word*)(in + i + w * stride);
        for (int w = 0; w < Words; w++)
            if (i + w * stride < whole)
                for (int e = 0; e < Lanes; e++) sums[e] = Op::join(sums[e], widen(words[w].at[e]));
    } else {
        #pragma unroll 2
        for (int w = 0; w < Words; w++)
            if (i + w * stride < whole) add<Op, false>(sums, in + i + w * stride);
    }
    // The word that is not whole has an owner too.
    if (whole >= i && whole < i + Words * stride && (whole - i) % stride == 0)
        add_rest<Op>(sums, in + whole, n - whole);
    return warp<Op>(lanes<Op>(sums));
}

template <class Op, u32 Words>
__device__ void one_block(const In* in, Acc* out, u64 n)
{
    __shared__ Acc warps[Warps];
    Acc value = block<Op>(tile<Op, Words>(in, n), warps);
    if (threadIdx.x == 0) *out = value;
}

// Every warp sends its value to the first block of the cluster, whose barrier counts the bytes.
template <class Op, u32 Words>
__device__ void one_cluster(const In* in, Acc* out, u64 n)
{
#if __CUDA_ARCH__ >= 900
    __shared__ Acc values[16 * Warps];
    __shared__ u64 arrived;
    u32 tid = threadIdx.x, slot = blockIdx.x * Warps + tid / 32, count = gridDim.x * Warps;
    u32 barrier = (u32)__cvta_generic_to_shared(&arrived);
    if (blockIdx.x == 0 && tid == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(count * (u32)sizeof(Acc)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    Acc value = tile<Op, Words>(in, n);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (tid % 32 == 0) {
        u32 there, first;
        asm("mapa.shared::cluster.u32 %0, %1, 0;"
            : "=r"(there) : "r"((u32)__cvta_generic_to_shared(values + slot)));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(barrier));
        if (Halves == 1)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                         :: "r"(there), "r"(*(u32*)&value), "r"(first) : "memory");
        else
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];"
                         :: "r"(there), "l"(*(u64*)&value), "r"(first) : "memory");
    }
    if (slot > 0) return;
    u32 done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    } while (!done);
    value = Op::none();
    for (u32 i = tid; i < count; i += 32) value = Op::join(value, values[i]);
    value = warp<Op>(value);
    if (tid == 0) *out = value;
#endif
}

// Two rows a warp, two steps and so four words of each thread in flight.
template <class Op, bool Aligned>
__device__ void add_rows(const In* in, u32 count, Acc* rows)
{
    u32 lane = threadIdx.x % 32, row = threadIdx.x / 32 * 2, steps = count / Step;
    Acc sums[2][Lanes];
    for (int r = 0; r < 2; r++) for (int e = 0; e < Lanes; e++) sums[r][e] = Op::none();
    in += (row * 32 + lane) * Lanes;
    #pragma unroll 2
    for (u32 step = 0; step < steps; step++, in += Step)
        for (int r = 0; r < 2; r++) add<Op, Aligned>(sums[r], in + r * 32 * Lanes);
    for (int r = 0; r < 2; r++) {
        u32 i = steps * Step + ((row + r) * 32 + lane) * Lanes;
        if (i < count) add_rest<Op>(sums[r], in + r * 32 * Lanes, count - i);
        Acc value = warp<Op>(lanes<Op>(sums[r]));
        if (lane == 0) rows[row + r] = value;
    }
}

// A value and a flag in one store, 32 bits of each: nobody needs a fence.
__device__ void post(u64* box, Acc value)
{
    union { Acc value; u32 half[Halves]; } parts;
    parts.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                     :: "l"(box + h), "l"(1ull << 32 | parts.half[h]) : "memory");
}

__device__ u64 peek(const u64* box)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(box) : "memory");
    return word;
}

// Chunks of a size that only n decides, drawn by whoever is free; the last block waits for the mail
// of all chunks, in their order, and empties the box. `state` is the next ticket, then the box.
template <class Op>
__device__ void chunks(const In* in, Acc* out, u64 n, u64 chunk, u32 count, u64* state)
{
    __shared__ Acc rows[2][Rows], warps[Warps];
    __shared__ u32 next[2];
    u32 turn = 0;
    u64* box = state + 2;
    for (u32 c = blockIdx.x; c < count; turn ^= 1) {
        // The draws of one launch are as many as its chunks, so the counter ends where it began.
        if (threadIdx.x == 0)
            next[turn] = count > gridDim.x ? atomicInc((u32*)state, count - 1) + gridDim.x : count;
        const In* at = in + c * chunk;
        u32 left = n - c * chunk < chunk ? n - c * chunk : chunk;
        if ((u64)in % 16 == 0) add_rows<Op, true>(at, left, rows[turn]);
        else add_rows<Op, false>(at, left, rows[turn]);
        __syncthreads();
        if (threadIdx.x < 32) {
            Acc value = warp<Op>(rows[turn][threadIdx.x]);
            if (threadIdx.x == 0) post(box + (u64)c * Halves, value);
        }
        c = next[turn];
    }
    if (blockIdx.x < gridDim.x - 1) return;
    Acc value = Op::none();
    for (u32 first = threadIdx.x; first < count; first += 4 * Threads) {
        u64 words[4][Halves];
        for (int k = 0; k < 4; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * Threads;
                words[k][h] = i < count ? peek(box + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < 4; k++) {
            u32 i = first + k * Threads;
            if (i >= count) break;
            union { Acc value; u32 half[Halves]; } parts;
            for (int h = 0; h < Halves; h++) {
                u64* mail = box + (u64)i * Halves + h;
                while (words[k][h] >> 32 == 0) words[k][h] = peek(mail);
                asm volatile("st.relaxed.gpu.global.u64 [%0], 0;" :: "l"(mail) : "memory");
                parts.half[h] = (u32)words[k][h];
            }
            value = Op::join(value, parts.value);
        }
    }
    value = block<Op>(warp<Op>(value), warps);
    if (threadIdx.x == 0) *out = value;
}

// Four blocks a multiprocessor keep it full; with eight elements in a word there are registers for two.
const u32 Resident = Lanes > 4 ? 2 : 4;

#define ENTRY(name, ...) extern "C" __global__ void __launch_bounds__(Threads) name(__VA_ARGS__)
#define BLOCK(Op, op, Words) \
    ENTRY(block_##op##_##Words, const In* in, Acc* out, u64 n) { one_block<Op, Words>(in, out, n); }
#if __CUDA_ARCH__ >= 900
#define CLUSTER(Op, op, Words) \
    ENTRY(cluster_##op##_##Words, const In* in, Acc* out, u64 n) { one_cluster<Op, Words>(in, out, n); }
#else
#define CLUSTER(Op, op, Words)
#endif
#define ALL(Op, op) \
    BLOCK(Op, op, 2) BLOCK(Op, op, 8) CLUSTER(Op, op, 2) CLUSTER(Op, op, 4) \
    extern "C" __global__ void __launch_bounds__(Threads, Resident) chunks_##op( \
        const In* in, Acc* out, u64 n, u64 chunk, u32 count, u64* state) \
    { chunks<Op>(in, out, n, chunk, count, state); }
ALL(Sum, sum) ALL(Min, min) ALL(Max, max)
