// What the ways with wide loads share: words of 16 bytes over a part of the matrices, and the tree
// from the threads' four sums to the block's.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Block = 512;

// Adds the elements from `begin` to `end`, `Flight` words a thread at once; what lies before the
// first whole word, and behind the last one, is given to `rest`, element by element.
template <unsigned int Flight, class Rest>
__device__ Word add(const Element* in, unsigned long long begin, unsigned long long end, Rest rest)
{
    unsigned int tid = threadIdx.x;
    unsigned long long first = (begin + Lanes - 1) / Lanes, last = end / Lanes;
    const Word* words = (const Word*)in;
    Word sums = {};
    #pragma unroll 1
    for (unsigned long long i = first + tid; i < last; i += Flight * Block) {
        Word next[Flight] = {};
        for (unsigned int k = 0; k < Flight; k++)
            if (i + k * Block < last) next[k] = words[i + k * Block];
        for (unsigned int k = 0; k < Flight; k++)
            for (unsigned int l = 0; l < Lanes; l++) sums.at[l] += next[k].at[l];
    }
    if (tid < Lanes) {
        unsigned long long head = begin + tid, tail = max(first, last) * Lanes + tid;
        if (head < min(first * Lanes, end)) rest(head, in[head]);
        if (tail < end) rest(tail, in[tail]);
    }
    return sums;
}

// The four sums of a thread's share of the matrices from `begin` to `end`, which is a multiple of 32
// or the end.
template <class Order> struct Share;

// A matrix is one word, or two: a thread's words are all the same part of their matrices.
template <> struct Share<Row> {
    static __device__ void add(Element* sums, const Element* in, unsigned long long n,
                               unsigned long long begin, unsigned long long end)
    {
        Word word = ::add<8>(in, Entries * begin, min(Entries * end, n),
                             [&](unsigned long long i, Element value) {
                                 for (unsigned int e = 0; e < Entries; e++)
                                     if (i % Entries == e) sums[e] += value;
                             });
        for (unsigned int e = 0; e < Entries; e++)
            if (e / Lanes == threadIdx.x % (Entries / Lanes)) sums[e] += word.at[e % Lanes];
    }
};

// Four parts, one of each entry, which need not begin with a whole word.
template <> struct Share<Column> {
    static __device__ void add(Element* sums, const Element* in, unsigned long long n,
                               unsigned long long begin, unsigned long long end)
    {
        unsigned long long matrices = (n + Entries - 1) / Entries;
        for (unsigned int e = 0; e < Entries; e++) {
            unsigned long long plane = e * matrices;
            Word word = ::add<8>(in, min(plane + begin, n), min(plane + end, n),
                                 [&](unsigned long long, Element value) { sums[e] += value; });
            for (unsigned int l = 0; l < Lanes; l++) sums[e] += word.at[l];
        }
    }
};

// Reduce: each warp's four sums by shuffles, then those of the block's warps; thread 0 has them.
__device__ void tree(Element* sums)
{
    __shared__ Element shared[Entries][Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // The last values that were put there have been read.
    for (unsigned int e = 0; e < Entries; e++) {
        for (unsigned int s = 16; s > 0; s /= 2) sums[e] += __shfl_down_sync(0xffffffff, sums[e], s);
        if (tid % 32 == 0) shared[e][tid / 32] = sums[e];
    }
    __syncthreads();
    if (tid >= 32) return;
    for (unsigned int e = 0; e < Entries; e++) {
        sums[e] = tid < Block / 32 ? shared[e][tid] : 0;
        for (unsigned int s = 8; s > 0; s /= 2) sums[e] += __shfl_down_sync(0xffffffff, sums[e], s);
    }
}
