// Vectors of 16 bytes from an aligned row, and the elements after the last whole vector.
struct alignas(16) Vector { Element at[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);

// Returns the sum of thread t of `threads`, which loads four vectors at a time, then the remaining elements one by one.
__device__ Element thread_sum(const Element* row, unsigned long long left, unsigned int t, unsigned int threads)
{
    Element sums[Width] = {};
    unsigned long long vectors = left / Width, v = t;
    for (; v < vectors; v += 4 * threads) {
        Vector four[4] = {};
        for (int k = 0; k < 4; k++)
            if (v + k * threads < vectors) four[k] = ((const Vector*)row)[v + k * threads];
        for (int k = 0; k < 4; k++)
            for (int e = 0; e < Width; e++) sums[e] += four[k].at[e];
    }
    for (unsigned long long i = vectors * Width + t; i < left; i += threads) sums[0] += row[i];
    for (int s = Width / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] += sums[e + s];
    return sums[0];
}
