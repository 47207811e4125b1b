// One launch and the same bits everywhere: fixed chunks in a fixed tree, added by the last block.
// Still costs: a register for every byte in flight, and a pause of the loads at the end of every chunk.
// Needs compute_70: the ticket is taken with acquire and release.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Rows = 32, Step = Rows * 32 * Lanes;

// Neighbours: in one load where they are a word, one by one where they lie across two.
template <bool Aligned>
__device__ Word load(const Element* at)
{
    Word word;
    if (Aligned) word = *(const Word*)at;
    else for (int e = 0; e < Lanes; e++) word.at[e] = at[e];
    return word;
}

// The sums of 32 rows, one word a lane in each step. A warp adds 1024 / Block of them, whichever it is:
// the tree does not know how large a block is.
template <unsigned int Block, bool Aligned>
__device__ void add_rows(const Element* in, unsigned int count, Element* rows)
{
    const unsigned int each = 1024 / Block, together = each < 4 ? each : 4, ahead = 8 / together;
    unsigned int lane = threadIdx.x % 32, first = threadIdx.x / 32 * each, steps = count / Step;
    for (unsigned int row = first; row < first + each; row += together) {
        // Load: eight words in flight.
        Word sums[together] = {};
        const Element* at = in + (row * 32 + lane) * Lanes;
        #pragma unroll ahead
        for (unsigned int step = 0; step < steps; step++, at += Step)
            for (int r = 0; r < together; r++) {
                Word word = load<Aligned>(at + r * 32 * Lanes);
                for (int e = 0; e < Lanes; e++) sums[r].at[e] += word.at[e];
            }
        for (int r = 0; r < together; r++) {
            // The last step may not be whole: nothing is added beyond the end.
            unsigned int i = steps * Step + ((row + r) * 32 + lane) * Lanes;
            for (int e = 0; e < Lanes; e++) if (i + e < count) sums[r].at[e] += in[i + e];

            // Reduce: each row to one value.
            for (int s = Lanes / 2; s > 0; s /= 2)
                for (int e = 0; e < s; e++) sums[r].at[e] += sums[r].at[e + s];
            Element sum = sums[r].at[0];
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
            if (lane == 0) rows[row + r] = sum;
        }
    }
}

template <unsigned int Block>
__device__ void reduce(const Element* in, Element* out, unsigned long long n, unsigned int chunk,
                       unsigned int chunks, Element* partials, unsigned int* tickets)
{
    // Two sets of rows: while the first warp adds one, the others fill the other.
    __shared__ Element rows[2][Rows];
    __shared__ bool last;
    bool aligned = (unsigned long long)in % 16 == 0;
    for (unsigned int c = blockIdx.x, turn = 0;; c += gridDim.x, turn ^= 1) {
        const Element* from = in + (unsigned long long)c * chunk;
        unsigned int count = c < chunks - 1 ? chunk : n - (unsigned long long)c * chunk;
        Element* to = chunks == 1 ? out : partials + c;
        bool finish = c >= chunks;
        if (finish) {
            // The block that draws the last ticket sees all partial sums, and no ticket stays drawn.
            if (threadIdx.x == 0) {
                unsigned int ticket;
                asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                             : "=r"(ticket) : "l"(tickets), "r"(gridDim.x - 1) : "memory");
                last = ticket == gridDim.x - 1;
            }
            __syncthreads();
            if (!last) return;
            from = partials, count = chunks, to = out;
        }
        if (aligned || finish) add_rows<Block, true>(from, count, rows[turn]);
        else add_rows<Block, false>(from, count, rows[turn]);
        __syncthreads();

        // Store: the sum of the rows.
        if (threadIdx.x < 32) {
            Element sum = rows[turn][threadIdx.x];
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
            if (threadIdx.x == 0) *to = sum;
        }
        if (finish || chunks == 1) return;
    }
}

// One entry point for each block size: the host picks the one that it launches.
#define ENTRY(Block) \
    extern "C" __global__ void __launch_bounds__(Block, 1024 / Block) reduce_##Block( \
        const Element* in, Element* out, unsigned long long n, unsigned int chunk, \
        unsigned int chunks, Element* partials, unsigned int* tickets) \
    { reduce<Block>(in, out, n, chunk, chunks, partials, tickets); }
ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)
