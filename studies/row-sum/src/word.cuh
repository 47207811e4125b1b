// Words of 16 bytes: the elements of a row that begin with one, and what is no whole word.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element);

// What thread t of `threads` adds of a row: four words in flight, then one by one.
__device__ Element thread_sum(const Element* row, unsigned long long left, unsigned int t, unsigned int threads)
{
    Element sums[Lanes] = {};
    unsigned long long words = left / Lanes, w = t;
    for (; w < words; w += 4 * threads) {
        Word four[4] = {};
        for (int k = 0; k < 4; k++)
            if (w + k * threads < words) four[k] = ((const Word*)row)[w + k * threads];
        for (int k = 0; k < 4; k++)
            for (int e = 0; e < Lanes; e++) sums[e] += four[k].at[e];
    }
    for (unsigned long long i = words * Lanes + t; i < left; i += threads) sums[0] += row[i];
    for (int s = Lanes / 2; s > 0; s /= 2)
        for (int e = 0; e < s; e++) sums[e] += sums[e + s];
    return sums[0];
}
