// The types of exact sums: In is the type of an element in memory, and Acc the type of the result. HALF and BFLOAT
// select the conversion of 16-bit elements.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

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

__device__ Acc nan()
{
    return sizeof(Acc) == 8 ? (Acc)__longlong_as_double(~0ull >> 1) : (Acc)__int_as_float(~0u >> 1);
}

// Returns infinity if `largest` is true, and otherwise -infinity.
__device__ Acc extreme(bool largest)
{
    return largest ? (Acc)__int_as_float(0x7f800000) : (Acc)-__int_as_float(0x7f800000);
}

