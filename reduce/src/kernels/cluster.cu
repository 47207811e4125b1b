// A few parts, a block each, in one cluster: every warp sends its value to the first block, whose
// barrier counts the bytes.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* out, u64 n, u32 words, u32 parts, u64* state, u32 epoch)
{
    const u32 Warps = THREADS / 32, Most = 16 * Warps;
    __shared__ Acc values[Most];
    __shared__ u64 arrived;
    u32 tid = threadIdx.x, slot = blockIdx.x * Warps + tid / 32, count = parts * Warps;
    u32 barrier = (u32)__cvta_generic_to_shared(&arrived);
    if (blockIdx.x == 0 && tid == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(count * (u32)sizeof(Acc)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    Acc value = tile<THREADS, ROWS, false>(part(in, n, words, blockIdx.x));
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (tid % 32 == 0) {
        u32 there, first;
        asm("mapa.shared::cluster.u32 %0, %1, 0;"
            : "=r"(there) : "r"((u32)__cvta_generic_to_shared(values + slot)));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(barrier));
        if (Halves == 1)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                         :: "r"(there), "r"(*(u32*)&value), "r"(first) : "memory");
        else
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];"
                         :: "r"(there), "l"(*(u64*)&value), "r"(first) : "memory");
    }
    if (slot > 0) return;
    // The values come from other blocks: what is acquired is what the cluster has released.
    u32 done;
    do {
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    } while (!done);
    value = Op::none();
    #pragma unroll
    for (int i = 0; i < Most; i += 32) {
        Acc sent = tid + i < count ? values[tid + i] : Op::none();
        value = Op::join(value, sent);
    }
    value = warp(value);
    if (tid == 0) store(out, value, epoch);
}
