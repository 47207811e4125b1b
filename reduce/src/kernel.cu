// A sum, minimum or maximum in one launch: one block, one cluster, or chunks and a mailbox.
// Still costs: a launch, and the memory's own time.
// Needs compute_70: relaxed loads and stores at gpu scope. With compute_90 it has clusters too.
//
// In is what an element is loaded as, Acc what it is added as; HALF and BFLOAT say how one becomes
// the other.
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(16) Word { In at[16 / sizeof(In)]; };
struct alignas(16) Values { Acc at[16 / sizeof(Acc)]; };
const u32 Lanes = 16 / sizeof(In), Halves = sizeof(Acc) / 4;

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
    template <class T> __device__ static T redux(T a) { return __reduce_add_sync(0xffffffff, a); }
};
struct Min {
    __device__ static Acc none() { return extreme(true); }
    __device__ static Acc join(Acc a, Acc b) { return b < a || a != a ? b : a; }
    template <class T> __device__ static T redux(T a) { return __reduce_min_sync(0xffffffff, a); }
};
struct Max {
    __device__ static Acc none() { return extreme(false); }
    __device__ static Acc join(Acc a, Acc b) { return b > a || a != a ? b : a; }
    template <class T> __device__ static T redux(T a) { return __reduce_max_sync(0xffffffff, a); }
};

// Lane 0 has the value of all. From Ampere on one instruction does it for 32-bit integers.
template <class Op, class T>
__device__ T warp(T value)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4 && (T)0.5 == (T)0) return Op::redux(value);
#endif
    for (int s = 16; s > 0; s /= 2) value = Op::join(value, __shfl_down_sync(0xffffffff, value, s));
    return value;
}

// What warps left in shared memory, by one thread: sooner done than five shuffles.
template <class Op, u32 Count>
__device__ Acc few(const Acc* values)
{
    const u32 Each = sizeof(Values) / sizeof(Acc);
    Acc sums[Each];
    for (int e = 0; e < Each; e++) sums[e] = Op::none();
    #pragma unroll
    for (int i = 0; i < Count / Each; i++) {
        Values some = ((const Values*)values)[i];
        for (int e = 0; e < Each; e++) sums[e] = Op::join(sums[e], some.at[e]);
    }
    for (int s = Each / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] = Op::join(sums[e], sums[e + s]);
    return sums[0];
}

// A word that is read once: it need not stay in the L1.
__device__ Word whole(const In* at)
{
    union { Word word; u32 part[4]; } loaded;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(loaded.part[0]), "=r"(loaded.part[1]), "=r"(loaded.part[2]), "=r"(loaded.part[3])
                 : "l"(at));
    return loaded.word;
}

// The first elements of a word, `left` of them if it has so many: in one load where that can be.
__device__ Word some(const In* at, u32 left, bool aligned)
{
    if (aligned && left >= Lanes) return whole(at);
    Word word = {};
    for (int e = 0; e < Lanes; e++) if (e < left) word.at[e] = at[e];
    return word;
}

template <class Op>
__device__ void clear(Acc* sums)
{
    for (int e = 0; e < Lanes; e++) sums[e] = Op::none();
}

template <class Op>
__device__ void add(Acc* sums, const Word& word)
{
    for (int e = 0; e < Lanes; e++) sums[e] = Op::join(sums[e], widen(word.at[e]));
}

template <class Op>
__device__ void add_some(Acc* sums, const Word& word, u32 left)
{
    for (int e = 0; e < Lanes; e++) if (e < left) sums[e] = Op::join(sums[e], widen(word.at[e]));
}

// The sums of a thread to one value, those of a warp to one in lane 0.
template <class Op>
__device__ Acc lanes(Acc* sums)
{
    for (int s = Lanes / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] = Op::join(sums[e], sums[e + s]);
    return warp<Op>(sums[0]);
}

__device__ u32 remaining(u32 i, u32 count)
{
    return i < count ? count - i : 0;
}

// What fits one tile a block: all words in flight before the first is added.
template <class Op, u32 Threads, u32 Words>
__device__ Acc tile(const In* in, u32 n)
{
    const u32 stride = Threads * Lanes;
    u32 i = blockIdx.x * (Words * stride) + threadIdx.x * Lanes;
    Word words[Words];
    Acc sums[Lanes];
    clear<Op>(sums);
    if ((u64)in % 16 != 0) {
        #pragma unroll 2
        for (int w = 0; w < Words; w++) {
            u32 left = remaining(i + w * stride, n);
            add_some<Op>(sums, some(in + i + w * stride, left, false), left);
        }
    } else if (n == gridDim.x * (Words * stride)) {
        #pragma unroll
        for (int w = 0; w < Words; w++) words[w] = whole(in + i + w * stride);
        #pragma unroll
        for (int w = 0; w < Words; w++) add<Op>(sums, words[w]);
    } else {
        #pragma unroll
        for (int w = 0; w < Words; w++)
            if (i + w * stride + Lanes <= n) words[w] = whole(in + i + w * stride);
        // The word that is not whole has an owner too.
        u32 end = n - n % Lanes, left = 0;
        if (end >= i && end < i + Words * stride && (end - i) % stride == 0) left = n - end;
        Word last = some(in + end, left, false);
        #pragma unroll
        for (int w = 0; w < Words; w++)
            if (i + w * stride + Lanes <= n) add<Op>(sums, words[w]);
        add_some<Op>(sums, last, left);
    }
    return lanes<Op>(sums);
}

template <class Op, u32 Threads, u32 Words>
__device__ void one_block(const In* in, Acc* out, u64 n)
{
    __shared__ alignas(16) Acc warps[Threads / 32];
    Acc value = tile<Op, Threads, Words>(in, n);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) *out = few<Op, Threads / 32>(warps);
}

// Every warp sends its value to the first block of the cluster, whose barrier counts the bytes.
template <class Op, u32 Words>
__device__ void one_cluster(const In* in, Acc* out, u64 n)
{
#if __CUDA_ARCH__ >= 900
    const u32 Threads = 256, Warps = Threads / 32, Most = 16 * Warps;
    __shared__ Acc values[Most];
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
    Acc value = tile<Op, Threads, Words>(in, n);
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
    Acc got[Most / 32];
    for (int k = 0; k < Most / 32; k++)
        got[k] = tid + 32 * k < count ? values[tid + 32 * k] : Op::none();
    value = got[0];
    for (int k = 1; k < Most / 32; k++) value = Op::join(value, got[k]);
    value = warp<Op>(value);
    if (tid == 0) *out = value;
#endif
}

// A chunk is steps of one word for each of 1024 threads: 16 KiB.
const u32 Threads = 1024, Step = Threads * Lanes;

// A chunk that is not whole, or lies across words. Its ragged end is loaded before the rest.
template <class Op, bool Aligned>
__device__ void add_ragged(Acc* sums, const In* at, u32 count)
{
    u32 end = count / Step * Step, left = remaining(end + threadIdx.x * Lanes, count);
    Word last = some(at + end, left, Aligned);
    #pragma unroll 2
    for (u32 i = 0; i < end; i += Step) add<Op>(sums, some(at + i, Lanes, Aligned));
    add_some<Op>(sums, last, left);
}

template <class Op>
__device__ void add_chunk(const In* in, u32 count, u32 chunk, Acc* warps)
{
    Acc sums[Lanes];
    clear<Op>(sums);
    const In* at = in + threadIdx.x * Lanes;
    if ((u64)in % 16 != 0) add_ragged<Op, false>(sums, at, count);
    else if (count < chunk) add_ragged<Op, true>(sums, at, count);
    else for (u32 i = 0; i < chunk; i += Step, at += Step) add<Op>(sums, whole(at));
    Acc value = lanes<Op>(sums);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
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

// A thread's share of the mail of `count` chunks, in their order: it waits for what has not come,
// and leaves the box empty.
template <class Op>
__device__ Acc collect(u64* box, u32 count, u32 threads)
{
    Acc value = Op::none();
    for (u32 first = threadIdx.x; first < count; first += 4 * threads) {
        u64 words[4][Halves];
        for (int k = 0; k < 4; k++)
            for (int h = 0; h < Halves; h++) {
                u32 i = first + k * threads;
                words[k][h] = i < count ? peek(box + (u64)i * Halves + h) : 0;
            }
        for (int k = 0; k < 4; k++) {
            u32 i = first + k * threads;
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
    return value;
}

// Chunks of a size that only n decides, drawn by whoever is free; the last block waits for the mail
// of all. `state` is the next ticket, then the box.
template <class Op>
__device__ void chunks(const In* in, Acc* out, u64 n, u32 chunk, u32 count, u64* state)
{
    // Two sets: while one thread adds what the warps left in one, they fill the other.
    __shared__ alignas(16) Acc warps[2][32];
    __shared__ u32 next[2];
    u32 turn = 0;
    u64* box = state + 2;
    for (u32 c = blockIdx.x; c < count; turn ^= 1) {
        // The draws of one launch are as many as its chunks, so the counter ends where it began.
        if (threadIdx.x == 0)
            next[turn] = count > gridDim.x ? atomicInc((u32*)state, count - 1) + gridDim.x : count;
        u64 begin = (u64)c * chunk;
        add_chunk<Op>(in + begin, n - begin < chunk ? n - begin : chunk, chunk, warps[turn]);
        __syncthreads();
        if (threadIdx.x == 0) post(box + (u64)c * Halves, few<Op, 32>(warps[turn]));
        c = next[turn];
    }
    if (blockIdx.x < gridDim.x - 1) return;
    // One warp has it done before a block would have met at a barrier, if each lane has four.
    if (count <= 128) {
        if (threadIdx.x >= 32) return;
        Acc value = warp<Op>(collect<Op>(box, count, 32));
        if (threadIdx.x == 0) *out = value;
        return;
    }
    Acc value = warp<Op>(collect<Op>(box, count, Threads));
    if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) *out = few<Op, 32>(warps[turn]);
}

// Two blocks a multiprocessor keep it full; with eight elements in a word there are registers for one.
const u32 Resident = Lanes > 4 ? 1 : 2;

#define BLOCK(Op, op, Threads, Words) \
    extern "C" __global__ void __launch_bounds__(Threads) block_##op##_##Words( \
        const In* in, Acc* out, u64 n) \
    { one_block<Op, Threads, Words>(in, out, n); }
#if __CUDA_ARCH__ >= 900
#define CLUSTER(Op, op, Words) \
    extern "C" __global__ void __launch_bounds__(256) cluster_##op##_##Words( \
        const In* in, Acc* out, u64 n) \
    { one_cluster<Op, Words>(in, out, n); }
#else
#define CLUSTER(Op, op, Words)
#endif
#define ALL(Op, op) \
    BLOCK(Op, op, 256, 4) BLOCK(Op, op, 512, 8) CLUSTER(Op, op, 4) CLUSTER(Op, op, 8) \
    extern "C" __global__ void __launch_bounds__(Threads, Resident) chunks_##op( \
        const In* in, Acc* out, u64 n, u32 chunk, u32 count, u64* state) \
    { chunks<Op>(in, out, n, chunk, count, state); }
ALL(Sum, sum) ALL(Min, min) ALL(Max, max)
