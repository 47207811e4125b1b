// A ring of three stages in shared memory: bulk copies fill it, and threads only add.
// Write the loop over the stages. Stage k of a block begins at vector first + k * stride.
// Needs compute_90: bulk copies that complete on an mbarrier.
typedef unsigned long long Barrier;

__device__ unsigned int address(const void* shared)
{
    return (unsigned int)__cvta_generic_to_shared(shared);
}

// Initializes a barrier whose phase completes when one thread and all expected bytes have arrived.
__device__ void init(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, sets the expected bytes, and starts the copy. Addresses and `bytes` are multiples of 16.
__device__ void copy(void* to, const void* from, unsigned int bytes, Barrier* barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(address(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];"
                 :: "r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

// Waits until the barrier's phase with this parity is complete.
__device__ void wait(const Barrier* barrier, unsigned int parity)
{
    unsigned int complete;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(complete) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!complete);
}

struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element), Stages = 3;
const unsigned long long PerStage = 256; // Vectors in a stage: one for each thread.

// Reduce: each warp combines its values; then the first warp combines the warps' sums in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[32];
    unsigned int tid = threadIdx.x;
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < blockDim.x / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ __align__(128) Vector ring[Stages][PerStage];
    __shared__ Barrier full[Stages];
    unsigned int tid = threadIdx.x;
    const Vector* vectors = (const Vector*)in;
    unsigned long long count = n / Width, first = blockIdx.x * PerStage, stride = gridDim.x * PerStage;
    if (tid < Stages) init(full + tid);
    __syncthreads();

    // Load: read the last n % Width elements, then one stage of the ring in each iteration.
    Element sum = blockIdx.x == 0 && tid < n % Width ? in[n - 1 - tid] : 0;
    // Your code goes here: thread 0 requests stages, and sum holds the sum of the elements that this thread adds.

    // Store: write the block's partial sum.
    sum = tree(sum);
    if (tid == 0) out[blockIdx.x] = sum;
}
