// Code for all versions: the location of an entry, in global and shared memory, and the store of a
// block's sums.
const unsigned int Entries = 4;

// Row-major order: the four entries of a matrix are neighbours.
struct Row {
    template <class Index>
    static __device__ Index at(Index matrix, unsigned int e, Index) { return Entries * matrix + e; }
};

// Column-major order: the first entries of all matrices, then the second entries of all, and so on.
struct Column {
    template <class Index>
    static __device__ Index at(Index matrix, unsigned int e, Index all) { return e * all + matrix; }
};

// Returns an entry of a matrix, or zero beyond the end; the last matrix may be incomplete.
template <class Order>
__device__ Element entry(const Element* in, unsigned long long n, unsigned long long matrix,
                         unsigned int e)
{
    unsigned long long matrices = (n + Entries - 1) / Entries, i = Order::at(matrix, e, matrices);
    return matrix < matrices && i < n ? in[i] : 0;
}

// Store: write a block's four sums in the order of the input; a single block also writes their sum.
template <class Order>
__device__ void store(const Element* sums, unsigned int step, Element* out, Element* total)
{
    for (unsigned int e = 0; e < Entries; e++)
        out[Order::at(blockIdx.x, e, gridDim.x)] = sums[e * step];
    if (gridDim.x == 1) *total = (sums[0] + sums[step]) + (sums[2 * step] + sums[3 * step]);
}
