// Vectors of 16 bytes, and the functions that load them. ELEMENT and VALUE are the sizes in bytes of In, an element in
// memory, and of Acc, the values that threads and blocks exchange.

// Constants are enumerators, because enumerators add nothing to the PTX.
enum : u32 { Width = 16 / ELEMENT, Halves = VALUE / 4 };
union alignas(16) Vector { In at[Width]; u32 word[4]; u16 half[8]; u64 pair[2]; };

// Loads a vector without allocating it in L1, because it is read only once. If `wanted` is false,
// `vector` keeps its value. The load is predicated, so there is no branch.
__device__ void load(Vector& vector, const In* at, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0;"
                 " @p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(vector.word[0]), "+r"(vector.word[1]), "+r"(vector.word[2]), "+r"(vector.word[3])
                 : "l"(at), "r"((u32)wanted));
}

// Loads an element in the same way. With a plain load, the compiler would use a branch, and move it after code that
// waits for other loads.
__device__ void load(Vector& vector, u32 e, const In* at, bool wanted)
{
#define LOAD(type, c, element) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate." type " %0, [%1]; }" \
                 : "+" c(element) : "l"(at), "r"((u32)wanted))
#if ELEMENT == 1
    u32 value = vector.at[e];
    LOAD("u8", "r", value);
    vector.at[e] = (u8)value;
#elif ELEMENT == 2
    LOAD("u16", "h", vector.half[e]);
#elif ELEMENT == 4
    LOAD("u32", "r", vector.word[e]);
#else
    LOAD("u64", "l", vector.pair[e]);
#endif
#undef LOAD
}

// A chunk: its address, the number of its whole vectors, and the number of elements of an incomplete last vector.
struct Chunk { const In* at; u32 vectors, tail; };

// Returns the chunk with the given index. Every chunk begins before the end of the slice.
__device__ Chunk chunk(const In* in, u64 n, u32 vectors, u32 index)
{
    u64 begin = (u64)index * vectors, rest = n / Width - begin;
    const In* at = in + begin * Width;
    return rest < vectors ? Chunk{at, (u32)rest, (u32)(n % Width)} : Chunk{at, vectors, 0};
}
