// The blocks of a cluster send their sums to the first block through distributed shared memory.
extern "C" __global__ void cluster(const Element* in, Element* out, unsigned long long n)
{
    __shared__ Element partial[16];
    __shared__ Element warps[32];
    unsigned int tid = threadIdx.x, rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");

    Element sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) warps[tid / 32] = sum;
    __syncthreads();

    // All blocks have started, so they can be accessed.
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (tid == 0) {
        sum = 0;
        for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
        unsigned int mine = (unsigned int)__cvta_generic_to_shared(&partial[rank]), first;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(first) : "r"(mine), "r"(0));
        if (sizeof(Element) == 8)
            asm volatile("st.shared::cluster.b64 [%0], %1;" :: "r"(first), "l"(*reinterpret_cast<long long*>(&sum)) : "memory");
        else
            asm volatile("st.shared::cluster.b32 [%0], %1;" :: "r"(first), "r"(*reinterpret_cast<int*>(&sum)) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && tid == 0) {
        sum = 0;
        for (unsigned int i = 0; i < size; ++i) sum += partial[i];
        out[blockIdx.x / size] = sum;
    }
}
