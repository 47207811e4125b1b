// The operations that combine two values. Combining a value with the neutral element changes no bit, so vectors
// after the end are read as neutral elements and combined like all others.
enum : bool { Integer = (Acc)0.5 == (Acc)0, Signed = (Acc)-1 < (Acc)0 };

__device__ Acc nan()
{
    return sizeof(Acc) == 8 ? (Acc)__longlong_as_double(~0ull >> 1) : (Acc)__int_as_float(~0u >> 1);
}

// Returns the smallest or largest value of a type, which is infinite for floats.
__device__ Acc extreme(bool largest)
{
    if (!Integer) return largest ? (Acc)__int_as_float(0x7f800000) : (Acc)-__int_as_float(0x7f800000);
    Acc top = (Acc)(~0ull >> (64 - 8 * sizeof(Acc) + (Signed ? 1 : 0)));
    return largest ? top : Signed ? (Acc)(-top - (Acc)1) : (Acc)0;
}

// IEEE 754-2019's minimumNumber and maximumNumber: NaN only if both values are NaN; -0 is less than +0.
template <class T> __device__ T least(T a, T b) { return b < a ? b : a; }
template <class T> __device__ T most(T a, T b) { return b > a ? b : a; }
__device__ float least(float a, float b) { return fminf(a, b); }
__device__ float most(float a, float b) { return fmaxf(a, b); }
__device__ double least(double a, double b) { return fmin(a, b); }
__device__ double most(double a, double b) { return fmax(a, b); }

// On sm_80 and newer, one instruction compares two pairs of halves.
#if defined(BFLOAT)
#define PAIRS "bf16x2"
#else
#define PAIRS "f16x2"
#endif

struct Sum {
    enum : bool { Order = false };
    __device__ static Acc none() { return 0; }
    __device__ static Acc empty() { return 0; }
    __device__ static Acc join(Acc a, Acc b) { return a + b; }
    __device__ static u32 pairs(u32 a, u32 b) { return a; }
    template <class T> __device__ static T redux(T a) { return __reduce_add_sync(~0u, a); }
};
struct Min {
    enum : bool { Order = true };
    __device__ static Acc none() { return Integer ? extreme(true) : nan(); }
    __device__ static Acc empty() { return extreme(true); }
    __device__ static Acc join(Acc a, Acc b) { return least(a, b); }
    __device__ static u32 pairs(u32 a, u32 b)
    {
        u32 c;
        asm("min." PAIRS " %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
        return c;
    }
    template <class T> __device__ static T redux(T a) { return __reduce_min_sync(~0u, a); }
};
struct Max {
    enum : bool { Order = true };
    __device__ static Acc none() { return Integer ? extreme(false) : nan(); }
    __device__ static Acc empty() { return extreme(false); }
    __device__ static Acc join(Acc a, Acc b) { return most(a, b); }
    __device__ static u32 pairs(u32 a, u32 b)
    {
        u32 c;
        asm("max." PAIRS " %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
        return c;
    }
    template <class T> __device__ static T redux(T a) { return __reduce_max_sync(~0u, a); }
};
typedef OPERATION Op;

// Returns a vector of neutral elements; if the elements are halves, they widen to neutral elements.
__device__ Vector blank()
{
    Vector vector;
    for (int e = 0; e < Width; e++) vector.at[e] = !Narrow ? (In)Op::none() : Op::Order ? (In)0x7fff : (In)0;
    return vector;
}

// Stores the result: for the stream if `epoch` is 0, and otherwise for a host that polls. For the host,
// each store has 32 bits of the result, with the epoch as their flag. Every NaN is stored as the same bits.
__device__ void store(void* out, Acc value, u32 epoch)
{
    if (!Integer && value != value) value = nan();
    if (epoch == 0) {
        *(Acc*)out = value;
        return;
    }
    union { Acc value; u32 half[Halves]; } bits;
    bits.value = value;
    for (int h = 0; h < Halves; h++)
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                     :: "l"((u64*)out + h), "l"((u64)epoch << 32 | bits.half[h]) : "memory");
}
