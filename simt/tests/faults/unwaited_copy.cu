// The threads read the data of a bulk copy without waiting for it.
extern "C" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    __shared__ alignas(128) Element tile[256];
    __shared__ alignas(8) unsigned long long full;
    unsigned int tid = threadIdx.x, barrier = (unsigned int)__cvta_generic_to_shared(&full);
    if (tid == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(1024) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"((unsigned int)__cvta_generic_to_shared(tile)), "l"(in), "r"(1024), "r"(barrier) : "memory");
    }
    __syncthreads();
    if (tid < n) out[tid] = tile[tid];
}
