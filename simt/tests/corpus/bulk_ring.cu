// Tiles arrive by bulk copies into a ring of four, each guarded by an mbarrier.
constexpr unsigned int Depth = 4;
constexpr unsigned int Tile = 256; // elements

__device__ unsigned int address(const void* shared) { return (unsigned int)__cvta_generic_to_shared(shared); }

__device__ void wait(unsigned int barrier, unsigned int parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra over;\n"
        "bra again;\n"
        "over:\n"
        "}\n" :: "r"(barrier), "r"(parity) : "memory");
}

__device__ void fetch(Element* tile, const Element* from, unsigned int barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(barrier), "r"((unsigned int)(Tile * sizeof(Element))) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(address(tile)), "l"(from), "r"((unsigned int)(Tile * sizeof(Element))), "r"(barrier) : "memory");
}

extern "C" __global__ void bulk_ring(const Element* in, Element* out, unsigned long long n)
{
    __shared__ alignas(128) Element ring[Depth][Tile];
    __shared__ alignas(8) unsigned long long full[Depth];
    __shared__ Element warps[32];
    unsigned int tid = threadIdx.x;
    unsigned int tiles = (unsigned int)(n / Tile);

    if (tid == 0) {
        for (unsigned int i = 0; i < Depth; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(&full[i])) : "memory");
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    __syncthreads();
    if (tid == 0) {
        for (unsigned int i = 0; i < Depth; ++i) {
            unsigned int tile = blockIdx.x + i * gridDim.x;
            if (tile < tiles) fetch(ring[i], in + (unsigned long long)tile * Tile, address(&full[i]));
        }
    }

    Element sum = 0;
    unsigned int slot = 0, parity = 0;
    for (unsigned int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        wait(address(&full[slot]), parity);
        for (unsigned int i = tid; i < Tile; i += blockDim.x) sum += ring[slot][i];
        __syncthreads();
        unsigned int next = tile + Depth * gridDim.x;
        if (tid == 0 && next < tiles) fetch(ring[slot], in + (unsigned long long)next * Tile, address(&full[slot]));
        if (++slot == Depth) { slot = 0; parity ^= 1; }
    }
    unsigned long long rest = (unsigned long long)tiles * Tile + tid;
    if (blockIdx.x == 0)
        for (; rest < n; rest += blockDim.x) sum += in[rest];

    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) warps[tid / 32] = sum;
    __syncthreads();
    if (tid == 0) {
        sum = 0;
        for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
        out[blockIdx.x] = sum;
    }
}
