// Declares, for clang, the names that are built into NVRTC.
//
// clang compiles CUDA, but gets these names from the headers of NVIDIA's toolkit. This file defines the names that a
// kernel needs without headers, using clang's builtins and no files from NVIDIA. `nodebug` gives an inlined instruction
// the line of the call in kernel.cu.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device, internal_linkage)) // Inlined functions are removed.
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define CUDA static __attribute__((device, always_inline, nodebug, unused))
typedef __SIZE_TYPE__ size_t;

// Indices. A read of threadIdx.x is a call to the function `x_`.
#define INDEX(name, register) \
    struct name##_t { \
        __declspec(property(get = x_)) unsigned int x; \
        __declspec(property(get = y_)) unsigned int y; \
        __declspec(property(get = z_)) unsigned int z; \
        CUDA unsigned int x_() { return __nvvm_read_ptx_sreg_##register##_x(); } \
        CUDA unsigned int y_() { return __nvvm_read_ptx_sreg_##register##_y(); } \
        CUDA unsigned int z_() { return __nvvm_read_ptx_sreg_##register##_z(); } \
    }; \
    extern const __attribute__((device, weak)) name##_t name;
INDEX(threadIdx, tid) INDEX(blockIdx, ctaid) INDEX(blockDim, ntid) INDEX(gridDim, nctaid)
__device__ constexpr int warpSize = 32;

// Vectors: uint4, make_uint4.
#define VECTORS(T, name, bytes) \
    struct name##1 { T x; }; \
    struct __align__(2 * bytes) name##2 { T x, y; }; \
    struct name##3 { T x, y, z; }; \
    struct __align__(4 * bytes > 16 ? 16 : 4 * bytes) name##4 { T x, y, z, w; }; \
    CUDA name##1 make_##name##1(T x) { return {x}; } \
    CUDA name##2 make_##name##2(T x, T y) { return {x, y}; } \
    CUDA name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    CUDA name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(signed char, char, 1) VECTORS(unsigned char, uchar, 1)
VECTORS(short, short, 2) VECTORS(unsigned short, ushort, 2)
VECTORS(int, int, 4) VECTORS(unsigned int, uint, 4) VECTORS(float, float, 4)
VECTORS(long long, longlong, 8) VECTORS(unsigned long long, ulonglong, 8) VECTORS(double, double, 8)

// Functions that reinterpret bits as another type.
#define BITS(name, To, From) CUDA To name(From value) { return __builtin_bit_cast(To, value); }
BITS(__float_as_int, int, float) BITS(__int_as_float, float, int)
BITS(__float_as_uint, unsigned int, float) BITS(__uint_as_float, float, unsigned int)
BITS(__double_as_longlong, long long, double) BITS(__longlong_as_double, double, long long)
CUDA int __double2hiint(double value) { return __double_as_longlong(value) >> 32; }
CUDA int __double2loint(double value) { return __double_as_longlong(value); }
CUDA double __hiloint2double(int high, int low) { return __longlong_as_double((unsigned long long)high << 32 | (unsigned int)low); }

// Barriers and fences. __syncthreads is built into clang.
CUDA void __syncwarp(unsigned int mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
#define VOTE_AT_BARRIER(name, reduce) \
    CUDA int name(int vote) { \
        int result; \
        asm volatile("{ .reg .pred %%vote, %%all; setp.ne.s32 %%vote, %1, 0; " reduce " }" \
                     : "=r"(result) : "r"(vote) : "memory"); \
        return result; \
    }
VOTE_AT_BARRIER(__syncthreads_count, "bar.red.popc.u32 %0, 0, %%vote;")
VOTE_AT_BARRIER(__syncthreads_and, "bar.red.and.pred %%all, 0, %%vote; selp.s32 %0, 1, 0, %%all;")
VOTE_AT_BARRIER(__syncthreads_or, "bar.red.or.pred %%all, 0, %%vote; selp.s32 %0, 1, 0, %%all;")
#if __CUDA_ARCH__ >= 700
CUDA void __nanosleep(unsigned int ns) { asm volatile("nanosleep.u32 %0;" :: "r"(ns)); }
#endif
CUDA void __threadfence() { __nvvm_membar_gl(); }
CUDA void __threadfence_block() { __nvvm_membar_cta(); }
CUDA void __threadfence_system() { __nvvm_membar_sys(); }

// Shuffles of 4 bytes. A shuffle of 8 bytes takes two shuffles of 4 bytes.
#define SHUFFLE(name, mode, low) \
    template <class T> CUDA T name(unsigned int mask, T value, unsigned int lane, int width = 32) { \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle takes 4 or 8 bytes"); \
        struct Words { int at[sizeof(T) / 4]; } words = __builtin_bit_cast(Words, value); \
        for (int& word : words.at) \
            word = __nvvm_shfl_sync_##mode##_i32(mask, word, lane, (32 - width) << 8 | low); \
        return __builtin_bit_cast(T, words); \
    }
SHUFFLE(__shfl_sync, idx, 31) SHUFFLE(__shfl_up_sync, up, 0)
SHUFFLE(__shfl_down_sync, down, 31) SHUFFLE(__shfl_xor_sync, bfly, 31)

// Votes.
CUDA int __all_sync(unsigned int mask, int vote) { return __nvvm_vote_all_sync(mask, vote); }
CUDA int __any_sync(unsigned int mask, int vote) { return __nvvm_vote_any_sync(mask, vote); }
CUDA unsigned int __ballot_sync(unsigned int mask, int vote) { return __nvvm_vote_ballot_sync(mask, vote); }
CUDA unsigned int __activemask() {
    unsigned int mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
#if __CUDA_ARCH__ >= 700
CUDA unsigned int __match_any_sync(unsigned int mask, unsigned int value) { return __nvvm_match_any_sync_i32(mask, value); }
CUDA unsigned int __match_all_sync(unsigned int mask, unsigned int value, int* same) { return __nvvm_match_all_sync_i32p(mask, value, same); }
#endif
#if __CUDA_ARCH__ >= 800
#define REDUX(op, T, name) CUDA T __reduce_##op##_sync(unsigned int mask, T value) { return __nvvm_redux_sync_##name(value, mask); }
REDUX(add, int, add) REDUX(add, unsigned int, add) REDUX(and, unsigned int, and) REDUX(or, unsigned int, or)
REDUX(xor, unsigned int, xor) REDUX(min, int, min) REDUX(min, unsigned int, umin) REDUX(max, int, max) REDUX(max, unsigned int, umax)
#endif

#if __CUDA_ARCH__ >= 610
CUDA int __dp4a(int a, int b, int sum) { asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b)); return sum; }
CUDA unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) { asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b)); return sum; }
#endif

// Relaxed atomics with device scope, which is the only scope that clang 17 and older support.
#if __has_builtin(__scoped_atomic_fetch_add)
#define ATOMIC(builtin, ...) __scoped_atomic_##builtin(__VA_ARGS__, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#else
#define ATOMIC(builtin, ...) __atomic_##builtin(__VA_ARGS__, __ATOMIC_RELAXED)
#endif
#define UPDATE(name, builtin, T) CUDA T name(T* at, T value) { return ATOMIC(builtin, at, value); }
#define INTEGER(T) \
    UPDATE(atomicAdd, fetch_add, T) UPDATE(atomicSub, fetch_sub, T) UPDATE(atomicExch, exchange_n, T) \
    UPDATE(atomicMin, fetch_min, T) UPDATE(atomicMax, fetch_max, T) UPDATE(atomicAnd, fetch_and, T) \
    UPDATE(atomicOr, fetch_or, T) UPDATE(atomicXor, fetch_xor, T) \
    CUDA T atomicCAS(T* at, T old, T value) { \
        ATOMIC(compare_exchange_n, at, &old, value, false, __ATOMIC_RELAXED); \
        return old; \
    }
INTEGER(int) INTEGER(unsigned int) INTEGER(unsigned long long)
UPDATE(atomicMin, fetch_min, long long) UPDATE(atomicMax, fetch_max, long long)
CUDA float atomicAdd(float* at, float value) { return __nvvm_atom_add_gen_f(at, value); }
CUDA float atomicExch(float* at, float value) { return __int_as_float(atomicExch((int*)at, __float_as_int(value))); }
#if __CUDA_ARCH__ >= 600
CUDA double atomicAdd(double* at, double value) { return __nvvm_atom_add_gen_d(at, value); }
#endif
CUDA unsigned int atomicInc(unsigned int* at, unsigned int last) { return __nvvm_atom_inc_gen_ui(at, last); }
CUDA unsigned int atomicDec(unsigned int* at, unsigned int last) { return __nvvm_atom_dec_gen_ui(at, last); }

// Arithmetic that needs no library.
template <class A, class B> CUDA auto min(A a, B b) { decltype(a + b) x = a, y = b; return x < y ? x : y; }
template <class A, class B> CUDA auto max(A a, B b) { decltype(a + b) x = a, y = b; return x > y ? x : y; }
#define FLOATS(T, f) \
    CUDA T fmin##f(T a, T b) { return __builtin_fmin##f(a, b); } \
    CUDA T fmax##f(T a, T b) { return __builtin_fmax##f(a, b); } \
    CUDA T fabs##f(T a) { return __builtin_fabs##f(a); } \
    CUDA T fma##f(T a, T b, T c) { return __builtin_fma##f(a, b, c); } \
    CUDA T min(T a, T b) { return __builtin_fmin##f(a, b); } \
    CUDA T max(T a, T b) { return __builtin_fmax##f(a, b); }
FLOATS(float, f) FLOATS(double, )
// Operations that are never contracted into an fma. Clang 16 contracts the intrinsics, so these operations are assembly.
#define ROUNDED_OP(T, name, op, type, c) \
    CUDA T name(T a, T b) { T r; asm(op ".rn." type " %0, %1, %2;" : "=" c(r) : c(a), c(b)); return r; }
#define ROUNDED(T, of, type, c) \
    ROUNDED_OP(T, __##of##add_rn, "add", type, c) \
    ROUNDED_OP(T, __##of##mul_rn, "mul", type, c) \
    ROUNDED_OP(T, __##of##sub_rn, "sub", type, c)
ROUNDED(float, f, "f32", "f") ROUNDED(double, d, "f64", "d")
CUDA float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
CUDA float sqrtf(float a) { return __nvvm_sqrt_rn_f(a); }
CUDA double sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
CUDA int abs(int a) { return a < 0 ? -a : a; }
CUDA int __popc(unsigned int a) { return __builtin_popcount(a); }
CUDA int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
CUDA int __clz(int a) { return a == 0 ? 32 : __builtin_clz(a); }
CUDA int __ffs(int a) { return __builtin_ffs(a); }
CUDA unsigned int __brev(unsigned int a) { return __builtin_bitreverse32(a); }
CUDA unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int bits) { return ((unsigned long long)high << 32 | low) << (bits & 31) >> 32; }
CUDA unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int bits) { return ((unsigned long long)high << 32 | low) >> (bits & 31); }
CUDA unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int which) { return __nvvm_prmt(a, b, which); }
CUDA int __mulhi(int a, int b) { return ((long long)a * b) >> 32; }
CUDA unsigned int __umulhi(unsigned int a, unsigned int b) { return ((unsigned long long)a * b) >> 32; }

// Other names: functions for loads, shared addresses for inline PTX, traps, clocks, messages and memory.
template <class T> CUDA T __ldg(const T* at) { return *at; }
CUDA size_t __cvta_generic_to_shared(const void* at) {
    return (size_t)(const void __attribute__((address_space(3)))*)at;
}
CUDA void __trap() { __builtin_trap(); }
CUDA long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
extern "C" __attribute__((device)) int printf(const char*, ...);
extern "C" __attribute__((device)) void* malloc(size_t);
extern "C" __attribute__((device)) void free(void*);
extern "C" __attribute__((device)) void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
#define assert(so) ((so) ? (void)0 : __assertfail(#so, __FILE__, __LINE__, __func__, 1))
#undef CUDA
