// One block of 512 threads adds everything, because the input is too small for several blocks.
// Write the whole kernel.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
}
