// Hopper's copy engine keeps a ring in shared memory full and threads only add; the bits are v8's.
// Still costs: the memory's own pauses, and for small sums the launch: no kernel saves those.
// Needs compute_90: bulk copies that complete on an mbarrier.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Rows = 32, Step = Rows * 32 * Lanes;
// A stage is 32 KiB and perhaps a word, and begins at a multiple of 128 bytes.
const unsigned int Stages = 3, Stage = 2 * Step, Pitch = Stage + 8 * Lanes;

// Neighbours: in one load where they are a word, one by one where they lie across two, and nothing
// beyond the end.
template <bool Aligned>
__device__ Word load(const Element* at, unsigned int left)
{
    if (Aligned && left >= Lanes) return *(const Word*)at;
    Word word = {};
    for (int e = 0; e < Lanes; e++) if (e < left) word.at[e] = at[e];
    return word;
}

// Load: one step's word of each row that the warp has.
template <unsigned int Each, bool Aligned>
__device__ void add_step(const Element* in, unsigned int count, Word* sums)
{
    for (int r = 0; r < Each; r++) {
        unsigned int at = ((threadIdx.x / 32 * Each + r) * 32 + threadIdx.x % 32) * Lanes;
        Word word = load<Aligned>(in + at, at < count ? count - at : 0);
        for (int e = 0; e < Lanes; e++) sums[r].at[e] += word.at[e];
    }
}

// Reduce: each row to one value, then the first warp those values: the sum, in thread 0.
template <unsigned int Each>
__device__ Element add_rows(Word* sums, Element* rows)
{
    unsigned int lane = threadIdx.x % 32;
    for (int r = 0; r < Each; r++) {
        for (int s = Lanes / 2; s > 0; s /= 2)
            for (int e = 0; e < s; e++) sums[r].at[e] += sums[r].at[e + s];
        Element sum = sums[r].at[0];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (lane == 0) rows[threadIdx.x / 32 * Each + r] = sum;
    }
    __syncthreads();
    Element sum = 0;
    if (threadIdx.x < 32) {
        sum = rows[lane];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

__device__ unsigned int address(const void* shared)
{
    return (unsigned int)__cvta_generic_to_shared(shared);
}

// Waits until a barrier has gone through the phase of that parity.
__device__ void wait(const unsigned long long* barrier, unsigned int parity)
{
    unsigned int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

// Starts the copy of a stage; its barrier completes when all of it has arrived. Nobody reads it again,
// so it is the first to leave the L2.
__device__ void copy(Element* stage, const Element* from, unsigned int bytes, unsigned long long* full)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(address(full)), "r"(bytes) : "memory");
    asm volatile("{ .reg .b64 once; createpolicy.fractional.L2::evict_first.b64 once, 1.0;"
                 " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1], %2, [%3], once; }"
                 :: "r"(address(stage)), "l"(from), "r"(bytes), "r"(address(full)) : "memory");
}

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, unsigned int chunk,
                       unsigned int chunks, Element* partials, unsigned int* tickets)
{
    extern __shared__ __align__(128) Element ring[];
    __shared__ unsigned long long full[Stages], empty[Stages];
    __shared__ Element rows[2][Rows];
    __shared__ bool last;
    const unsigned int each = 1024 / Block;
    unsigned int tid = threadIdx.x;
    if (tid < Stages) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(full + tid)) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                     :: "r"(address(empty + tid)), "r"(Block / 32) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // The engine copies whole words: a base between two of them is copied from the one below it, and
    // a word more. What is left of the last chunk when no stage is whole any more, threads load.
    unsigned int skew = (unsigned long long)in % 16 / sizeof(Element), extra = skew ? Lanes : 0;
    unsigned int parts = chunk / Stage, items = 0;
    auto stages = [&](unsigned int c) {
        unsigned long long begin = (unsigned long long)c * chunk + extra;
        unsigned long long left = n > begin ? n - begin : 0;
        return left < chunk ? (unsigned int)(left / Stage) : parts;
    };
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x) items += stages(c);
    auto fill = [&](unsigned int item) {
        unsigned int c = blockIdx.x + item / parts * gridDim.x;
        const Element* from = in + (unsigned long long)c * chunk + item % parts * Stage - skew;
        copy(ring + item % Stages * Pitch, from, (Stage + extra) * sizeof(Element),
             full + item % Stages);
    };
    if (tid == 0) for (unsigned int item = 0; item < Stages && item < items; item++) fill(item);

    unsigned int item = 0, turn = 0;
    for (unsigned int c = blockIdx.x; c < chunks; c += gridDim.x, turn++) {
        Word sums[each] = {};
        unsigned int whole = stages(c);
        for (unsigned int part = 0; part < whole; part++, item++) {
            unsigned int stage = item % Stages, phase = item / Stages % 2;
            const Element* from = ring + stage * Pitch + skew;
            wait(full + stage, phase);
            for (unsigned int step = 0; step < Stage; step += Step)
                if (skew) add_step<each, false>(from + step, Step, sums);
                else add_step<each, true>(from + step, Step, sums);
            __syncwarp();
            if (tid % 32 == 0)
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                             :: "r"(address(empty + stage)) : "memory");
            // Thread 0 refills the stage before this one: its last reader has long gone on.
            if (tid == 0 && item > 0 && item - 1 + Stages < items) {
                wait(empty + (item - 1) % Stages, (item - 1) / Stages % 2);
                fill(item - 1 + Stages);
            }
        }
        unsigned long long begin = (unsigned long long)c * chunk;
        unsigned int left = n - begin < chunk ? n - begin : chunk;
        for (unsigned int at = whole * Stage; at < left; at += Step)
            add_step<each, false>(in + begin + at, left - at, sums);
        Element sum = add_rows<each>(sums, rows[turn % 2]);
        if (tid == 0) (chunks == 1 ? out : partials)[c] = sum;
    }
    if (chunks == 1) return;

    // Store: the block that takes the last ticket sees all partial sums, and leaves 0 tickets taken.
    if (tid == 0) {
        unsigned int ticket;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket) : "l"(tickets), "r"(gridDim.x - 1) : "memory");
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        Word sums[each] = {};
        for (unsigned int at = 0; at < chunks; at += Step)
            add_step<each, false>(partials + at, chunks - at, sums);
        Element sum = add_rows<each>(sums, rows[turn % 2]);
        if (tid == 0) *out = sum;
    }
}

// One entry point for each block size: the host picks the one that it launches.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, Block < 1024 ? 2 : 1) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n, unsigned int chunk, \
        unsigned int chunks, Element* partials, unsigned int* tickets) \
    { reduce<Block>(in, out, n, chunk, chunks, partials, tickets); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
