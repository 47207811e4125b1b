// Vectors of 16 bytes, and the functions that load them.
//
// In is the type of an element in memory, and Acc the type in which it is added; HALF and BFLOAT select the
// conversion. OPERATION is Sum, Min or Max. NAME, THREADS, ROWS and RESIDENT are parameters of the entry.
typedef unsigned int u32;
typedef unsigned long long u64;

// Constants are enumerators, because enumerators add nothing to the PTX.
enum : u32 { Width = 16 / sizeof(In), Halves = sizeof(Acc) / 4 };
union alignas(16) Vector { In at[Width]; u32 word[4]; unsigned short half[8]; u64 pair[2]; };
struct alignas(16) Values { Acc at[16 / sizeof(Acc)]; };

#if defined(HALF) || defined(BFLOAT)
enum : bool { Narrow = true };
#else
enum : bool { Narrow = false };
#endif

__device__ Acc widen(In value)
{
#if defined(HALF)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#elif defined(BFLOAT)
    return __uint_as_float((u32)value << 16);
#else
    return value;
#endif
}

// Loads a vector without allocating it in L1, because it is read only once. If it is not wanted,
// `vector` keeps its value. The load is predicated, so there is no branch.
__device__ void load(Vector& vector, const In* at, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0;"
                 " @p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(vector.word[0]), "+r"(vector.word[1]), "+r"(vector.word[2]), "+r"(vector.word[3])
                 : "l"(at), "r"((u32)wanted));
}

// Loads an element in the same way. With a plain load, the compiler would move a branch behind code
// that waits for other loads.
__device__ void load(Vector& vector, u32 e, const In* at, bool wanted)
{
#define LOAD(type, c, element) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate." type " %0, [%1]; }" \
                 : "+" c(element) : "l"(at), "r"((u32)wanted))
    if (sizeof(In) == 2) LOAD("u16", "h", vector.half[e]);
    if (sizeof(In) == 4) LOAD("u32", "r", vector.word[e]);
    if (sizeof(In) == 8) LOAD("u64", "l", vector.pair[e]);
#undef LOAD
}

// A chunk: the number of its whole vectors, and the number of elements of an incomplete last vector.
struct Chunk { const In* at; u32 vectors, tail; };

// Returns the chunk with an index. Every chunk begins before the end of the slice.
__device__ Chunk chunk(const In* in, u64 n, u32 vectors, u32 index)
{
    u64 begin = (u64)index * vectors, rest = n / Width - begin;
    const In* at = in + begin * Width;
    return rest < vectors ? Chunk{at, (u32)rest, (u32)(n % Width)} : Chunk{at, vectors, 0};
}
