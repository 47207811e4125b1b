// One launch and the same bits everywhere: fixed chunks in a fixed tree, added by the last block.
// Still costs: a register for every byte in flight, and a pause of the loads at the end of every chunk.
// Needs compute_70: the ticket is taken with acquire and release.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Rows = 32, Step = Rows * 32 * Lanes;

// Neighbours: in one load if they are whole, else one by one, zero beyond the end.
template <bool Whole>
__device__ Word load(const Element* at, unsigned int left)
{
    if (Whole) return *(const Word*)at;
    Word word = {};
    for (int e = 0; e < Lanes; e++) if (e < left) word.at[e] = at[e];
    return word;
}

// The sums of 32 rows, one word a lane in each step. A warp adds 1024 / Block of them, whichever it is:
// the tree does not know how large a block is.
template <unsigned int Block, bool Whole>
__device__ void add_rows(const Element* in, unsigned int count, Element* rows)
{
    const unsigned int each = 1024 / Block, together = each < 4 ? each : 4, ahead = 8 / together;
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int steps = (count + Step - 1) / Step;
    for (unsigned int row = warp * each; row < warp * each + each; row += together) {
        // Load: eight words in flight.
        Word sums[together] = {};
        unsigned int i = (row * 32 + lane) * Lanes;
        #pragma unroll ahead
        for (unsigned int step = 0; step < steps; step++, i += Step)
            for (int r = 0; r < together; r++) {
                unsigned int at = i + r * 32 * Lanes;
                Word word = load<Whole>(in + at, at < count ? count - at : 0);
                for (int e = 0; e < Lanes; e++) sums[r].at[e] += word.at[e];
            }

        // Reduce: each row to one value.
        for (int r = 0; r < together; r++) {
            for (int s = Lanes / 2; s > 0; s /= 2)
                for (int e = 0; e < s; e++) sums[r].at[e] += sums[r].at[e + s];
            Element sum = sums[r].at[0];
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
            if (lane == 0) rows[row + r] = sum;
        }
    }
}

// The sum of `count` elements, in thread 0.
template <unsigned int Block>
__device__ Element add(const Element* in, unsigned int count, Element* rows)
{
    bool whole = count % Step == 0 && (unsigned long long)in % 16 == 0;
    if (whole) add_rows<Block, true>(in, count, rows); else add_rows<Block, false>(in, count, rows);
    __syncthreads();
    Element sum = 0;
    if (threadIdx.x < 32) {
        sum = rows[threadIdx.x];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, unsigned int chunk,
                       unsigned int chunks, Element* partials, unsigned int* tickets)
{
    __shared__ Element rows[2][Rows];
    __shared__ bool last;
    for (unsigned int c = blockIdx.x, turn = 0; c < chunks; c += gridDim.x, turn++) {
        unsigned long long begin = (unsigned long long)c * chunk, left = n - begin;
        // Two sets of rows: while the first warp adds one, the others fill the other.
        Element sum = add<Block>(in + begin, left < chunk ? left : chunk, rows[turn % 2]);
        if (threadIdx.x == 0) (chunks == 1 ? out : partials)[c] = sum;
    }
    if (chunks == 1) return;

    // Store: the block that takes the last ticket sees all partial sums, and leaves 0 tickets taken.
    if (threadIdx.x == 0) {
        unsigned int ticket;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket) : "l"(tickets), "r"(gridDim.x - 1) : "memory");
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        Element sum = add<Block>(partials, chunks, rows[0]);
        if (threadIdx.x == 0) *out = sum;
    }
}

// One entry point for each block size: the host picks the one that it launches.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n, unsigned int chunk, \
        unsigned int chunks, Element* partials, unsigned int* tickets) \
    { reduce<Block>(in, out, n, chunk, chunks, partials, tickets); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
