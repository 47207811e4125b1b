// Work-efficient exclusive scan (Blelloch, 1990): up a tree, then down again with the sums of the elements to the left.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ int tree[256];
    unsigned int tid = threadIdx.x, first = blockIdx.x * 256;
    for (unsigned int k = tid; k < 256; k += 128) tree[k] = first + k < n ? in[first + k] : 0;
    for (unsigned int s = 1; s < 256; s *= 2) {
        __syncthreads();
        unsigned int at = (tid + 1) * 2 * s - 1;
        if (at < 256) tree[at] += tree[at - s];
    }
    if (tid == 0) tree[255] = 0;
    for (unsigned int s = 128; s > 0; s /= 2) {
        __syncthreads();
        unsigned int at = (tid + 1) * 2 * s - 1;
        if (at < 256) {
            int left = tree[at - s];
            tree[at - s] = tree[at];
            tree[at] += left;
        }
    }
    __syncthreads();
    for (unsigned int k = tid; k < 256; k += 128) if (first + k < n) out[first + k] = tree[k];
}
