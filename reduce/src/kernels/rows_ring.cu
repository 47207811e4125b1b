// Reduces unaligned rows of 48 to 192 KiB, on devices with asynchronous copies to shared memory. While a warp adds one
// stage of its ring, it copies the next stage, from the same chunks, the next chunks or the next row. A block adds all
// or some of the chunks of a row, four at a time, as in rows_chunks.cu.
//
// Aligned vectors are copied, so a thread's sums belong to places in an aligned vector: the sums at places below `skew`
// contain elements of the previous lane's vector. In lane 0, these places hold the elements after those of lane 31.
enum : u32 { Warps = THREADS / 32, Most = 8 * Warps, Bytes = sizeof(Vector), Size = sizeof(In) };

// The rows, and their assignment to blocks.
struct All { u64 in, n, pitch, items; u32 vectors, chunks, each, groups; };

// One stage of a warp: a vector per lane, starting with vector `at`, from each of up to four chunks.
struct Stage {
    u64 item, from;  // the address of the first chunk's first element
    u32 chunk, behind, at;
    u32 elements;    // in the first chunk
    u32 bytes;       // from the first aligned vector to the end of these chunks
    __device__ bool exists(const All& all) const { return item < all.items; }
    __device__ u32 skew() const { return (u32)from % Bytes; }
    __device__ u32 chunks() const { return behind - chunk < 4 ? behind - chunk : 4; }
    // The warp's index in a chunk. Warps rotate, so that the same warp does not always have the extra vectors.
    __device__ u32 warp() const { return (threadIdx.x / 32 + chunk) % Warps; }
    __device__ bool ends() const { return (at + THREADS) * Width >= elements; }
    __device__ void enter(const All& all)
    {
        const u32 full = all.vectors * Width, rest = (u32)all.n - chunk * full, most = chunks() * full;
        elements = rest < full ? rest : full;
        bytes = skew() + (rest < most ? rest : most) * Size;
        at = warp() * 32;
    }
    __device__ void next(const All& all)
    {
        if (!ends()) {
            at += THREADS;
        } else if ((chunk += 4) < behind) {
            from += 4 * all.vectors * Bytes;
            enter(all);
        } else if ((item += gridDim.x) < all.items) {
            const u64 row = item / all.groups;
            chunk = (u32)(item % all.groups) * all.each;
            behind = all.chunks - chunk < all.each ? all.chunks : chunk + all.each;
            from = all.in + row * all.pitch * Size + chunk * all.vectors * Bytes;
            enter(all);
        }
    }
    // Returns how many bytes of chunk u may be read, starting at the chunk's first aligned vector.
    __device__ u32 readable(const All& all, u32 u) const
    {
        const u32 before = u * all.vectors * Bytes, most = skew() + all.vectors * Bytes;
        const u32 rest = bytes > before ? bytes - before : 0;
        return rest < most ? rest : most;
    }
    __device__ void request(const All& all, Vector (*to)[32]) const
    {
        const u32 lane = threadIdx.x % 32, u = lane / Width % 4, e = lane % Width, apart = all.vectors * Bytes;
        const u32 first = at * Bytes, mine = first + lane * Bytes;
        const u32 place = first + e * Size + (e * Size < skew() ? 32 * Bytes : 0);
        const char* memory = (const char*)(from - skew());
        if (first + 33 * Bytes <= readable(all, 3)) {
            for (u32 k = 0; k < 4; k++) copy<Bytes>(&to[k][lane], memory + mine + k * apart, lane > 0, Bytes);
            copy<Size>(&to[u][0].at[e], memory + place + u * apart, lane < 4 * Width, Size);
            return;
        }
        #pragma unroll 1
        for (u32 k = 0; k < 4; k++) {
            const u32 most = readable(all, k), rest = mine < most ? most - mine : 0;
            copy<Bytes>(&to[k][lane], memory + mine + k * apart, lane > 0, rest < Bytes ? rest : Bytes);
        }
        copy<Size>(&to[u][0].at[e], memory + place + u * apart, lane < 4 * Width, place < readable(all, u) ? Size : 0);
    }
    // Copies the first `first` bytes of `Count` bytes, and fills the rest with zeros. The copy goes through the L1
    // cache, because two warps share a sector.
    template <u32 Count>
    __device__ static void copy(const void* to, const char* from, bool wanted, u32 first)
    {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p cp.async.ca.shared.global [%0], [%1], %2, %3; }"
                     :: "r"((u32)__cvta_generic_to_shared(to)), "l"(from), "n"(Count), "r"(first), "r"((u32)wanted)
                     : "memory");
    }
};

// Converts per-place sums to per-element sums. Rotating a thread's sums changes none of the pairs that are added, so
// the tree is unchanged.
__device__ void hand_over(Sums& sums, u32 skew)
{
    for (u32 e = 0; e < Width - 1; e++) {
        Local next = __shfl_sync(~0u, sums.at[e], (threadIdx.x + 1) % 32);
        if (e * Size < skew) sums.at[e] = next;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 vectors, u32 chunks, u32 each, u64* state)
{
    // Each warp has two stages of four vectors per lane: one is added while the other is copied.
    __shared__ Vector rings[Warps][2][4][32];
    // There are two sets of values: while one warp combines one set, the other warps fill the next.
    __shared__ alignas(16) Acc kept[2][Most];
    const u32 t = threadIdx.x, lane = t % 32, groups = (chunks + each - 1) / each, count = chunks * Warps;
    const All all{(u64)in, n, pitch, m * groups, vectors, chunks, each, groups};
    // The stage before this block's first stage.
    Stage stage{(u64)blockIdx.x - gridDim.x};
    Sums sums[4];
    u32 half = 0, set = 0;
    #pragma unroll 1
    for (Stage ahead = stage;; stage = ahead) {
        ahead.next(all);
        asm volatile("cp.async.wait_all;" ::: "memory");
        // Makes all lanes' copies visible, and waits until all lanes have read the stage that will be overwritten.
        __syncwarp();
        const bool exists = stage.exists(all);
        if (ahead.exists(all)) ahead.request(all, rings[t / 32][half ^ 1]);
        else if (!exists) return;
        for (u32 u = 0; u < 4; u++) if (exists) sums[u].add(rings[t / 32][half][u][lane]);
        half ^= 1;
        if (!exists || !stage.ends()) continue;

        for (u32 u = 0; u < 4; u++) hand_over(sums[u], stage.skew());
        Acc value = four(sums);
        for (u32 u = 0; u < 4; u++) sums[u] = Sums();
        const u64 row = stage.item / groups;
        u64* slots = state + row * count * Halves;
        if (lane % 8 == 0 && lane / 8 < stage.chunks()) {
            const u32 place = (stage.chunk + lane / 8) * Warps + stage.warp();
            if (groups == 1) kept[set][place] = value;
            else publish(slots + place * Halves, value);
        }
        if (stage.chunk + 4 < stage.behind || stage.behind < chunks) continue;
        // The block with the last chunks of a row combines the values of all chunks.
        if (groups == 1) __syncthreads();
        if (t < 32) {
            value = Op::none();
            if (groups > 1) value = collect(slots, count, 32);
            else for (u32 i = t; i < count; i += 32) value = Op::join(value, kept[set][i]);
            value = warp(value);
            if (t == 0) store(out + row, value, n, 0);
        }
        set ^= 1;
    }
}
