// The chunks of a shard, which one of several ranks adds. A shard begins at the start of a chunk,
// so only the last shard may have an incomplete chunk or vector.

// Adds a chunk of an unaligned slice. The tree is the same as for an aligned slice, but vectors are loaded element by
// element.
__device__ Acc crossing(Chunk chunk)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < chunk.vectors + (chunk.tail > 0); w += THREADS)
        sums.add(some(chunk.at + (u64)w * Width, w < chunk.vectors ? Width : chunk.tail));
    return warp(sums.all());
}

// Adds a chunk of a slice with any alignment. Lane 0 gets the warp's value.
__device__ Acc whole(Chunk chunk, const In* in)
{
    return (u64)in % 16 == 0 ? tile<THREADS, ROWS, true>(chunk) : crossing(chunk);
}

// Draws a block's next chunk. A launch draws one ticket for each chunk, so the counter wraps to its initial value.
__device__ u32 draw(u64* state, u32 chunks)
{
    return chunks > gridDim.x ? atomicInc((u32*)state, chunks - 1) + gridDim.x : chunks;
}
