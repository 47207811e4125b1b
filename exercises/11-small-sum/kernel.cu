// One block of 512 threads adds everything: a sum too small to share.
// Yours: all of it.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
}
