// The parts of a shard: what each rank of several adds of one slice. A shard begins where a part does,
// so the last one alone may have a part, and a word, that is not whole.

// A part of a slice that begins between two words: the same tree, element by element.
__device__ Acc crossing(Part part)
{
    Sums sums;
    #pragma unroll 1
    for (u32 w = threadIdx.x; w < part.words + (part.left > 0); w += THREADS)
        sums.add(some(part.at + (u64)w * Lanes, w < part.words ? Lanes : part.left));
    return warp(sums.all());
}

// Thread 0 of each warp has the warp's value.
__device__ Acc whole(Part part, const In* in)
{
    return (u64)in % 16 == 0 ? tile<THREADS, ROWS, true>(part) : crossing(part);
}

// The draws of one launch are as many as its parts, so the counter ends where it began.
__device__ u32 draw(u64* state, u32 parts)
{
    return parts > gridDim.x ? atomicInc((u32*)state, parts - 1) + gridDim.x : parts;
}
