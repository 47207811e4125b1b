// Words of 16 bytes, and how they are read.
//
// In is what an element is loaded as, Acc what it is added as; HALF and BFLOAT say how one becomes
// the other. OPERATION is Sum, Min or Max; NAME, THREADS, ROWS and RESIDENT are those of the entry.
typedef unsigned int u32;
typedef unsigned long long u64;

// Constants are enumerators: they take no place in the PTX.
enum : u32 { Lanes = 16 / sizeof(In), Halves = sizeof(Acc) / 4 };
union alignas(16) Word { In at[Lanes]; u32 part[4]; unsigned short half[8]; u64 pair[2]; };
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

// A word that is read once: it need not stay in the L1. Unwanted, it keeps what it holds, and nobody
// branches.
__device__ void load(Word& word, const In* at, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0;"
                 " @p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(word.part[0]), "+r"(word.part[1]), "+r"(word.part[2]), "+r"(word.part[3])
                 : "l"(at), "r"((u32)wanted));
}

// An element in the same way. A branch around plain loads would be moved behind what waits for others.
__device__ void load(Word& word, u32 e, const In* at, bool wanted)
{
#define LOAD(type, c, lane) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate." type " %0, [%1]; }" \
                 : "+" c(lane) : "l"(at), "r"((u32)wanted))
    if (sizeof(In) == 2) LOAD("u16", "h", word.half[e]);
    if (sizeof(In) == 4) LOAD("u32", "r", word.part[e]);
    if (sizeof(In) == 8) LOAD("u64", "l", word.pair[e]);
#undef LOAD
}

// The words of a part that are whole, and the elements of a last one that is not.
struct Part { const In* at; u32 words, left; };

// No part begins behind the last element.
__device__ Part part(const In* in, u64 n, u32 words, u32 index)
{
    u64 begin = (u64)index * words, rest = n / Lanes - begin;
    const In* at = in + begin * Lanes;
    return rest < words ? Part{at, (u32)rest, (u32)(n % Lanes)} : Part{at, words, 0};
}
