// Code for versions with vectorized loads: vectors of 16 bytes from a chunk of the matrices, and
// the tree that combines the four sums of each thread into four sums of the block.
struct alignas(16) Vector { Element at[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Block = 512;

// Adds the elements from `begin` to `end`, `Flight` vectors per thread at once. Passes the elements
// before the first aligned vector and after the last one to `rest`, one by one.
template <unsigned int Flight, class Rest>
__device__ Vector add(const Element* in, unsigned long long begin, unsigned long long end, Rest rest)
{
    unsigned int tid = threadIdx.x;
    unsigned long long first = (begin + Width - 1) / Width, last = end / Width;
    const Vector* vectors = (const Vector*)in;
    Vector sums = {};
    #pragma unroll 1
    for (unsigned long long i = first + tid; i < last; i += Flight * Block) {
        Vector next[Flight] = {};
        for (unsigned int k = 0; k < Flight; k++)
            if (i + k * Block < last) next[k] = vectors[i + k * Block];
        for (unsigned int k = 0; k < Flight; k++)
            for (unsigned int v = 0; v < Width; v++) sums.at[v] += next[k].at[v];
    }
    if (tid < Width) {
        unsigned long long head = begin + tid, tail = max(first, last) * Width + tid;
        if (head < min(first * Width, end)) rest(head, in[head]);
        if (tail < end) rest(tail, in[tail]);
    }
    return sums;
}

// Adds a thread's matrices from `begin` to `end` to four sums; `end` is a multiple of 32 or the end
// of the input.
template <class Order> struct Matrices;

// A matrix has one or two vectors. If there are two, a thread always adds the same half.
template <> struct Matrices<Row> {
    static __device__ void add(Element* sums, const Element* in, unsigned long long n,
                               unsigned long long begin, unsigned long long end)
    {
        Vector vector = ::add<8>(in, Entries * begin, min(Entries * end, n),
                             [&](unsigned long long i, Element value) {
                                 for (unsigned int e = 0; e < Entries; e++)
                                     if (i % Entries == e) sums[e] += value;
                             });
        for (unsigned int e = 0; e < Entries; e++)
            if (e / Width == threadIdx.x % (Entries / Width)) sums[e] += vector.at[e % Width];
    }
};

// There are four planes, one for each entry; each plane may be unaligned.
template <> struct Matrices<Column> {
    static __device__ void add(Element* sums, const Element* in, unsigned long long n,
                               unsigned long long begin, unsigned long long end)
    {
        unsigned long long matrices = (n + Entries - 1) / Entries;
        for (unsigned int e = 0; e < Entries; e++) {
            unsigned long long plane = e * matrices;
            Vector vector = ::add<8>(in, min(plane + begin, n), min(plane + end, n),
                                 [&](unsigned long long, Element value) { sums[e] += value; });
            for (unsigned int v = 0; v < Width; v++) sums[e] += vector.at[v];
        }
    }
};

// Reduce: each warp combines its four sums; then the first warp combines all sums in thread 0.
__device__ void tree(Element* sums)
{
    __shared__ Element shared[Entries][Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // All threads have read the previous call's values.
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
