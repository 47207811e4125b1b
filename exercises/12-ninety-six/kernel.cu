// A block of 32, 96 or 160 threads, and a tree whose halves are not always equal.
// Write the whole kernel. One element per thread; the sum of block b is stored in out[b].
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
}
