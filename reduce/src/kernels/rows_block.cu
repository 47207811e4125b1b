// Rows of 2 to 48 KiB: a block has up to four at once, or the four quarters of one, and each of its threads
// a sum for each of them. A row of quarters is added as by a block of four times as many threads.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 quarters, u32 turns, u32 none, u64* state)
{
    const u32 Warps = THREADS / 32;
    // Two sets: while a few threads join what the warps left in one, the others fill the next.
    __shared__ alignas(16) Acc warps[2][4 * Warps];
    const u32 t = threadIdx.x;
    u32 set = 0;
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * turns; first < m; first += (u64)gridDim.x * turns, set ^= 1) {
        const In* at = in + first * pitch;
        Runs runs = turns_of(at, (u32)n, THREADS);
        if (!quarters)
            for (u32 u = 0; u < 4; u++) {
                runs.at[u] = at + u * pitch;
                runs.count[u] = u < turns && first + u < m ? (u32)n : 0;
            }
        Sums sums[4];
        add(sums, runs, (u32)n, t, quarters ? 4 * THREADS : THREADS, false);
        Acc value = four(sums);
        if (t % 8 == 0) warps[set][t % 32 / 8 * Warps + t / 32] = value;
        __syncthreads();
        if (quarters) {
            if (t == 0) store(out + first, few(warps[set], 4 * Warps), 0);
        } else if (t < turns && first + t < m) {
            store(out + first + t, few(warps[set] + t * Warps, Warps), 0);
        }
    }
}
