// Bulk copies from global to shared memory, and the mbarriers that count their bytes. Each function
// wraps one or two PTX instructions.
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
