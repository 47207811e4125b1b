// Reduces columns. Each column is added in the same order as a slice of its length, so that its result has the same
// bits. Each lane has one column. Each warp adds some leaves of the tree; a leaf is one of a thread's `Width` sums,
// which adds the element with the same number of each vector. The rows of a leaf are a constant distance apart, and
// neighbouring lanes read neighbouring elements of a row.
//
// Leaves are added in groups, in an order in which neighbours are combined first. The index of a leaf therefore
// consists of a thread's number in its warp and an element's number in its vector, each with its bits reversed.
// A group has the leaves of `Threads` threads, whose numbers are `Apart` apart.
enum : u32 {
    Group = ELEMENT == 8 ? 8 : 16, Leaves = 32 * Width, Groups = Leaves / Group, Warps = THREADS / 32,
    Threads = Group / Width, Apart = 32 / Threads,
    // The number of levels of a tree of all groups.
    Levels = ELEMENT == 1 ? 6 : ELEMENT == 2 ? 5 : 4
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

// Returns the value of groups `from` to `to` - 1 of the leaves of one warp of the tree. The number of these groups is a
// power of two. `at` is the column's element in the first of the chunk's `rows` rows.
__device__ Acc leaves(const Matrix& all, const In* at, u32 rows, u32 warp, u32 from, u32 to)
{
    Acc stack[Levels];
    for (u32 l = 0; l < Levels; l++) stack[l] = Op::none();
    const u32 step = all.threads * Width;
    const u64 jump = ((Apart - 1) * Width + 1) * all.pitch;
    #pragma unroll 1
    for (u32 g = from; g < to; g++) {
        Local sums[Group];
        for (u32 i = 0; i < Group; i++) sums[i] = Op::start();
        // The first leaf of a group has the lowest rows.
        const u32 thread = reversed(g * Group / Width, 32);
        #pragma unroll 1
        for (u32 row = (warp * 32 + thread) * Width; row < rows; row += step) {
            const u32 left = rows - row;
            const In* place = at + (u64)row * all.pitch;
            In loaded[Group];
            // Loads the rows in ascending order, so that each address is the previous one plus a distance.
            for (u32 t = 0; t < Threads; t++) {
                for (u32 e = 0; e < Width; e++) {
                    const u32 i = reversed(t, Threads) * Width + reversed(e, Width);
                    loaded[i] = blank().at[0];
                    if (t * Apart * Width + e < left) loaded[i] = __ldg(place);
                    place += e + 1 < Width ? all.pitch : jump;
                }
            }
            for (u32 i = 0; i < Group; i++) sums[i] = Op::add(sums[i], loaded[i]);
        }
        Acc values[Group];
        for (u32 i = 0; i < Group; i++) values[i] = Op::value(sums[i]);
        for (u32 s = 1; s < Group; s *= 2)
            for (u32 i = 0; i < Group; i += 2 * s) values[i] = Op::join(values[i], values[i + s]);
        // Values move up like the carries of a binary counter: the value of a full level is combined with the new
        // value.
        Acc value = values[0];
        bool carry = true;
        for (u32 l = 0; l < Levels; l++) {
            const bool full = (g - from) >> l & 1;
            if (carry && full) value = Op::join(stack[l], value);
            if (carry && !full) stack[l] = value;
            carry = carry && full;
        }
    }
    Acc value = stack[0];
    for (u32 l = 1; l < Levels; l++) if ((to - from) >> l & 1) value = stack[l];
    return value;
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

// A block adds one chunk of a set of 32 columns. If a set needs fewer warps than a block has, the block adds the only
// chunk of several sets. `split` warps share the leaves of one warp of the tree. If there are several chunks, blocks
// store their values in `values`, and the last block to do so for a set of columns combines them. `counters` has a
// counter for each set. Both arrays are zero between launches.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, Acc* out, u64 n, u64 columns, u64 inner, u64 apart, u64 pitch, u32 vectors, u32 chunks, u32 threads,
    u32 split, u32* counters, Acc* values)
{
    __shared__ Acc shared[64][32];
    __shared__ u32 last;
    const Matrix all{in, n, columns, inner, apart, pitch, vectors, chunks, threads};
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, tree = threads / 32, units = tree * split;
    // The number of sets of columns that a block adds.
    const u32 sets = units < Warps ? Warps / units : 1;
    const u64 set = blockIdx.x / chunks * sets + (units < Warps ? warp / units : 0);
    const u32 index = blockIdx.x % chunks;
    const u64 column = set * 32 + lane;
    const bool wanted = column < columns;
    const u64 begin = (u64)index * vectors * Width, rest = n - begin, most = (u64)vectors * Width;
    // A chunk has fewer than 2^32 rows.
    const u32 rows = !wanted ? 0 : chunks > 1 && rest > most ? (u32)most : (u32)rest;
    const In* at = in + (wanted ? column / inner * apart + column % inner : 0) + begin * pitch;
    const u32 each = Groups / split;
    #pragma unroll 1
    for (u32 unit = units < Warps ? warp % units : warp; unit < units; unit += Warps) {
        const u32 from = unit % split * each;
        shared[sets > 1 ? warp : unit][lane] = leaves(all, at, rows, unit / split, from, from + each);
    }
    __syncthreads();
    // One warp combines the values of each set: first the parts of each warp of the tree, and then the values of these
    // warps.
    const u32 base = sets > 1 ? warp : 0;
    const bool first = units < Warps ? warp % units == 0 : warp == 0;
    auto part = [&](u32 w) {
        #pragma unroll 1
        for (u32 s = 1; s < split; s *= 2)
            for (u32 i = 0; i < split; i += 2 * s) {
                Acc* place = &shared[base + w * split + i][lane];
                *place = Op::join(*place, place[s * 32]);
            }
        return shared[base + w * split][lane];
    };
    const bool spread = chunks > 1 && threads == 256;
    if (first && chunks == 1) {
        const Acc value = few_of(tree, part);
        if (wanted) out[column] = Op::result(n > 0 ? value : Op::empty(), n);
        return;
    }
    if (chunks == 1) return;
    // With several chunks, each block has one set of columns.
    if (first && wanted) {
        if (spread) for (u32 w = 0; w < tree; w++) values[(u64)(index * tree + w) * columns + column] = part(w);
        else values[(u64)index * columns + column] = few_of(tree, part);
    }
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
    for (u32 w = 0; w < collectors / 32; w++) {
        #pragma unroll 1
        for (u32 t = warp; t < 32; t += Warps) {
            Acc value = Op::none();
            #pragma unroll 1
            for (u32 i = w * 32 + t; i < count && wanted; i += collectors) {
                Acc* place = values + (u64)i * columns + column;
                value = Op::join(value, __ldcg(place));
                *place = 0;
            }
            shared[t][lane] = value;
        }
        __syncthreads();
        if (warp == 0) {
            #pragma unroll 1
            for (u32 s = 16; s > 0; s /= 2)
                for (u32 t = 0; t < s; t++) shared[t][lane] = Op::join(shared[t][lane], shared[t + s][lane]);
            shared[32 + w][lane] = shared[0][lane];
        }
        __syncthreads();
    }
    if (warp == 0 && wanted)
        out[column] = Op::result(few_of(collectors / 32, [&](u32 w) { return shared[32 + w][lane]; }), n);
}
