// Reduces columns. Each column is added in the same order as a slice of its length, so that both results have the same
// bits. Each lane has one or two columns. Each warp adds some leaves of the tree; a leaf is one of a thread's `Width`
// sums, each of which adds the elements at one place in every vector. The rows of a leaf are a constant distance apart,
// and neighbouring lanes read neighbouring elements of a row.
//
// Leaves are added in groups, in an order in which neighbours are combined first. The index of a leaf therefore
// consists of a thread's number in its warp and an element's number in its vector, each with its bits reversed.
enum : u32 { Leaves = 32 * Width, Warps = THREADS / 32 };

// Whether a lane can have two columns. Shared memory has no room for two columns of 8-byte values.
#define TWO (ELEMENT == 2 && VALUE == 4)

// The groups for a lane with `Per` columns: the leaves of `Threads` threads, whose numbers are `Apart` apart.
template <u32 Per>
struct Cut {
    enum : u32 { Group = (ELEMENT == 8 ? 8 : 16) / Per, Groups = Leaves / Group };
    enum : u32 { Threads = Group / Width, Apart = 32 / Threads, Levels = Groups == 32 ? 6 : Groups == 16 ? 5 : 4 };
};

__device__ constexpr u32 reversed(u32 value, u32 count)
{
    u32 result = 0;
    for (u32 bit = 1; bit < count; bit *= 2, value /= 2) result = 2 * result + value % 2;
    return result;
}

// A matrix of `columns` columns, in batches of `inner` columns. Batches start `apart` elements apart. A column has n
// elements, which are `pitch` elements apart. A slice of n elements has chunks of `vectors` vectors, and blocks of
// `threads` threads.
struct Matrix { const In* in; u64 n, columns, inner, apart, pitch; u32 vectors, chunks, threads; };

// The elements of a lane's columns in one row.
template <u32 Per>
struct Row { In at[Per]; };

__device__ void load(Row<1>& row, const In* at, bool wanted)
{
    Vector vector;
    vector.at[0] = row.at[0];
    load(vector, 0, at, wanted);
    row.at[0] = vector.at[0];
}

#if TWO
__device__ void load(Row<2>& row, const In* at, bool wanted)
{
    u32 word = row.at[0] | (u32)row.at[1] << 16;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u32 %0, [%1]; }"
                 : "+r"(word) : "l"(at), "r"((u32)wanted));
    row.at[0] = (In)word, row.at[1] = (In)(word >> 16);
}
#endif

// Computes the values of groups `from` to `to` - 1 of the leaves of one warp of the tree. The number of these groups is
// a power of two. `at` is the first column's element in the first of the chunk's `rows` rows.
template <u32 Per>
__device__ void leaves(const Matrix& all, const In* at, u32 rows, u32 warp, u32 from, u32 to, Acc (&result)[Per])
{
    typedef Cut<Per> C;
    Acc stack[C::Levels][Per];
    for (u32 l = 0; l < C::Levels; l++)
        for (u32 c = 0; c < Per; c++) stack[l][c] = Op::none();
    const u32 step = all.threads * Width;
    const u64 jump = ((C::Apart - 1) * Width + 1) * all.pitch;
    #pragma unroll 1
    for (u32 g = from; g < to; g++) {
        Local sums[C::Group][Per];
        for (u32 i = 0; i < C::Group; i++)
            for (u32 c = 0; c < Per; c++) sums[i][c] = Op::start();
        // The first leaf of a group has the lowest rows.
        const u32 thread = reversed(g * C::Group / Width, 32);
        #pragma unroll 1
        for (u32 row = (warp * 32 + thread) * Width; row < rows; row += step) {
            const u32 left = rows - row;
            const In* place = at + (u64)row * all.pitch;
            Row<Per> loaded[C::Threads][Width];
            // Loads the rows in ascending order, so that each address is the previous one plus a distance.
            for (u32 t = 0; t < C::Threads; t++)
                for (u32 e = 0; e < Width; e++) {
                    for (u32 c = 0; c < Per; c++) loaded[t][e].at[c] = blank().at[c];
                    load(loaded[t][e], place, t * C::Apart * Width + e < left);
                    place += e + 1 < Width ? all.pitch : jump;
                }
            for (u32 i = 0; i < C::Group; i++)
                for (u32 c = 0; c < Per; c++) {
                    const In element = loaded[reversed(i / Width, C::Threads)][reversed(i % Width, Width)].at[c];
                    sums[i][c] = Op::add(sums[i][c], element);
                }
        }
        for (u32 c = 0; c < Per; c++) {
            Acc values[C::Group];
            for (u32 i = 0; i < C::Group; i++) values[i] = Op::value(sums[i][c]);
            for (u32 s = 1; s < C::Group; s *= 2)
                for (u32 i = 0; i < C::Group; i += 2 * s) values[i] = Op::join(values[i], values[i + s]);
            // Values move up like the carries of a binary counter: the value of a full level is combined with the new
            // value.
            Acc value = values[0];
            bool carry = true;
            for (u32 l = 0; l < C::Levels; l++) {
                const bool full = (g - from) >> l & 1;
                if (carry && full) value = Op::join(stack[l][c], value);
                if (carry && !full) stack[l][c] = value;
                carry = carry && full;
            }
        }
    }
    for (u32 c = 0; c < Per; c++) {
        result[c] = stack[0][c];
        for (u32 l = 1; l < C::Levels; l++) if ((to - from) >> l & 1) result[c] = stack[l][c];
    }
}

// Combines the values `at(0)` to `at(count - 1)` of this lane in the order of `few`.
template <class At>
__device__ Acc few_of(u32 count, At at)
{
    const u32 Each = sizeof(Values) / sizeof(Acc);
    if (count == 1) return at(0);
    Acc sums[Each];
    for (u32 e = 0; e < Each; e++) sums[e] = Op::none();
    #pragma unroll 1
    for (u32 i = 0; i < count; i += Each)
        for (u32 e = 0; e < Each; e++) sums[e] = Op::join(sums[e], at(i + e));
    for (u32 s = Each / 2; s > 0; s /= 2)
        for (u32 e = 0; e < s; e++) sums[e] = Op::join(sums[e], sums[e + s]);
    return sums[0];
}

// A block adds one chunk of a set of 32 * `Per` columns. If a set needs fewer warps than a block has, the block adds
// the only chunk of several sets. `split` warps share the leaves of one warp of the tree. If there are several chunks,
// blocks store their values in `values`, and the last block to do so for a set of columns combines them. `counters` has
// a counter for each set. Both arrays are zero between launches.
template <u32 Per>
__device__ void reduce(const Matrix& all, Acc* out, u32 split, u32* counters, Acc* values)
{
    __shared__ Acc shared[Per][64][32];
    __shared__ u32 last;
    const u64 n = all.n, columns = all.columns;
    const u32 vectors = all.vectors, chunks = all.chunks, threads = all.threads;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, tree = threads / 32, units = tree * split;
    // The number of sets of columns that a block adds.
    const u32 sets = units < Warps ? Warps / units : 1;
    const u64 set = blockIdx.x / chunks * sets + (units < Warps ? warp / units : 0);
    const u32 index = blockIdx.x % chunks;
    const u64 column = (set * 32 + lane) * Per;
    const bool wanted = column < columns;
    const u64 begin = (u64)index * vectors * Width, rest = n - begin, most = (u64)vectors * Width;
    // A chunk has fewer than 2^32 rows.
    const u32 rows = !wanted ? 0 : chunks > 1 && rest > most ? (u32)most : (u32)rest;
    const In* at = all.in + (wanted ? column / all.inner * all.apart + column % all.inner : 0) + begin * all.pitch;
    const u32 each = Cut<Per>::Groups / split;
    #pragma unroll 1
    for (u32 unit = units < Warps ? warp % units : warp; unit < units; unit += Warps) {
        const u32 from = unit % split * each;
        Acc found[Per];
        leaves<Per>(all, at, rows, unit / split, from, from + each, found);
        for (u32 c = 0; c < Per; c++) shared[c][sets > 1 ? warp : unit][lane] = found[c];
    }
    __syncthreads();
    // One warp combines the values of each set: first the parts of each warp of the tree, and then the values of these
    // warps.
    const u32 base = sets > 1 ? warp : 0;
    const bool first = units < Warps ? warp % units == 0 : warp == 0, spread = chunks > 1 && threads == 256;
    #pragma unroll 1
    for (u32 c = 0; c < Per && first; c++) {
        auto part = [&](u32 w) {
            #pragma unroll 1
            for (u32 s = 1; s < split; s *= 2)
                for (u32 i = 0; i < split; i += 2 * s) {
                    Acc* place = &shared[c][base + w * split + i][lane];
                    *place = Op::join(*place, place[s * 32]);
                }
            return shared[c][base + w * split][lane];
        };
        if (chunks == 1) {
            const Acc value = few_of(tree, part);
            if (wanted) out[column + c] = Op::result(n > 0 ? value : Op::empty(), n);
        } else if (wanted) {
            // With several chunks, each block has one set of columns.
            if (spread) for (u32 w = 0; w < tree; w++) values[(u64)(index * tree + w) * columns + column + c] = part(w);
            else values[(u64)index * columns + column + c] = few_of(tree, part);
        }
    }
    if (chunks == 1) return;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(counters + set, chunks - 1) == chunks - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    const u32 count = spread ? chunks * tree : chunks, collectors = count <= 128 ? 32 : 512;
    #pragma unroll 1
    for (u32 c = 0; c < Per; c++) {
        #pragma unroll 1
        for (u32 w = 0; w < collectors / 32; w++) {
            #pragma unroll 1
            for (u32 t = warp; t < 32; t += Warps) {
                Acc value = Op::none();
                #pragma unroll 1
                for (u32 i = w * 32 + t; i < count && wanted; i += collectors) {
                    Acc* place = values + (u64)i * columns + column + c;
                    value = Op::join(value, __ldcg(place));
                    *place = 0;
                }
                shared[c][t][lane] = value;
            }
            __syncthreads();
            if (warp == 0) {
                #pragma unroll 1
                for (u32 s = 16; s > 0; s /= 2)
                    for (u32 t = 0; t < s; t++)
                        shared[c][t][lane] = Op::join(shared[c][t][lane], shared[c][t + s][lane]);
                shared[c][32 + w][lane] = shared[c][0][lane];
            }
            __syncthreads();
        }
        if (warp == 0 && wanted)
            out[column + c] = Op::result(few_of(collectors / 32, [&](u32 w) { return shared[c][32 + w][lane]; }), n);
    }
}

// Each lane has one column or, if `two` is true, two neighbouring columns, whose elements it loads at the same time.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 n, u64 columns, u64 inner, u64 apart, u64 pitch, u32 vectors, u32 chunks, u32 threads,
    u32 split, u32 two, u32* counters, Acc* values)
{
    const Matrix all{in, n, columns, inner, apart, pitch, vectors, chunks, threads};
#if TWO
    if (two) return reduce<2>(all, out, split, counters, values);
#endif
    reduce<1>(all, out, split, counters, values);
}
