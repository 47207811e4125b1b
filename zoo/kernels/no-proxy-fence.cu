// A block adds one tile after another: the copy engine fills a stage, which the tree adds in place.
// Needs compute_90: bulk copies that complete on an mbarrier.
#define COPY "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
#define EXPECT "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;"
#define WAIT "{ .reg .pred p; more: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra more; }"
#define INIT "mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;"
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ alignas(16) Element stage[256];
    __shared__ unsigned long long full;
    unsigned int tid = threadIdx.x, tiles = n / 256;
    unsigned int to = (unsigned int)__cvta_generic_to_shared(stage);
    unsigned int bar = (unsigned int)__cvta_generic_to_shared(&full);
    if (tid == 0) asm volatile(INIT :: "r"(bar) : "memory");
    __syncthreads();

    Element sum = blockIdx.x == 0 && tid < n % 256 ? in[n - 1 - tid] : 0;
    for (unsigned int turn = 0, t = blockIdx.x; t < tiles; t += gridDim.x, turn++) {
        // Load: copy a tile with one instruction; the barrier counts the copied bytes.
        if (tid == 0) asm volatile(EXPECT :: "r"(bar) : "memory");
        if (tid == 0) asm volatile(COPY :: "r"(to), "l"(in + t * 256ull), "r"(bar) : "memory");
        asm volatile(WAIT :: "r"(bar), "r"(turn % 2) : "memory");

        // Reduce: in each round, half as many threads add as in the round before, within the stage.
        for (unsigned int s = 128; s > 0; s /= 2) {
            if (tid < s) stage[tid] += stage[tid + s];
            __syncthreads();
        }
        if (tid == 0) sum += stage[0];
        __syncthreads();
    }

    // Store: add the block's sum to the total.
    if (sum != 0) atomicAdd(out, sum);
}
// Wrong: threads stored to the stage, but no `fence.proxy.async` orders those stores before the next copy.
