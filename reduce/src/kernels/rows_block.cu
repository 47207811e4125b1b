// Reduces rows of 2 to 48 KiB. A block adds up to four rows at the same time, or four quarters of one row; each thread
// has one sum for each of the four. A quartered row is added in the order of a block with four times as many threads.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 m, u64 n, u64 pitch, u32 quarters, u32 at_once, u32 none, u64* state)
{
    const u32 Warps = THREADS / 32;
    // There are two sets of values: while a few threads combine one set, the others fill the next.
    __shared__ alignas(16) Acc warps[2][4 * Warps];
    const u32 t = threadIdx.x;
    u32 set = 0;
    #pragma unroll 1
    for (u64 first = (u64)blockIdx.x * at_once; first < m; first += (u64)gridDim.x * at_once, set ^= 1) {
        const In* at = in + first * pitch;
        Runs runs = split(at, (u32)n, THREADS);
        if (!quarters)
            for (u32 u = 0; u < 4; u++) {
                runs.at[u] = at + u * pitch;
                runs.count[u] = u < at_once && first + u < m ? (u32)n : 0;
            }
        Sums sums[4];
        add(sums, runs, (u32)n, t, quarters ? 4 * THREADS : THREADS, false);
        Acc value = four(sums);
        if (t % 8 == 0) warps[set][t % 32 / 8 * Warps + t / 32] = value;
        __syncthreads();
        if (quarters) {
            if (t == 0) store(out + first, few(warps[set], 4 * Warps), n, 0);
        } else if (t < at_once && first + t < m) {
            store(out + first + t, few(warps[set] + t * Warps, Warps), n, 0);
        }
    }
}
