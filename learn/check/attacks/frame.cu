// The common frame of all attacks: it defines the same names for every exercise, so one body fits many exercises.
// TASK is the number of the exercise.
#define EACH ((TASK >= 4 && TASK <= 7) || TASK == 14 ? 2u : 1u)
#define TILES (TASK <= 7 || (TASK >= 12 && TASK <= 14))
#define SINGLE (TASK == 9 || TASK == 10)

struct alignas(16) Vector { Element data[16 / sizeof(Element)]; };
const unsigned int Width = 16 / sizeof(Element);
typedef unsigned long long ull;

// The lowest Element: minus infinity, or the smallest int.
__device__ Element lowest()
{
    return (Element)0.5 == 0 ? (Element)(-2147483647 - 1) : (Element)__int_as_float(0xff800000);
}

// The operation of the exercise, and its neutral element.
#if TASK == 13
__device__ Element add(Element a, Element b) { return b > a || a != a ? (b != b ? a : b) : a; }
__device__ Element none() { return lowest(); }
#else
__device__ Element add(Element a, Element b) { return a + b; }
__device__ Element none() { return 0; }
#endif

// The sum of a warp's lanes, in lane 0.
__device__ Element warp(Element sum)
{
    for (int s = 16; s > 0; s /= 2) sum = add(sum, __shfl_down_sync(0xffffffff, sum, s));
    return sum;
}

// The sum of a block's threads, in thread 0.
__device__ Element tree(Element sum)
{
    __shared__ Element warps[32];
    __syncthreads();
    sum = warp(sum);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) sum = warp(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : none());
    return sum;
}

#if SINGLE
#define PARAMETERS const Element* in, Element* out, ull n, Element* partials, unsigned int* tickets
#elif TASK == 16
#define PARAMETERS const Element* in, Element* out, ull n, ull* slots
#elif TASK == 14
#define PARAMETERS const Element* in, Element* sums, Element* maxima, ull n
#else
#define PARAMETERS const Element* in, Element* out, ull n
#endif

// The elements of a block: its tile, or its share of all vectors. The last block also has the elements after the last vector.
#define RANGE \
    unsigned int tid = threadIdx.x; \
    ull part = TILES ? EACH * blockDim.x : (n / Width + gridDim.x - 1) / gridDim.x * Width; \
    ull first = min(blockIdx.x * part, n), end = min(first + part, n); \
    if (!TILES && blockIdx.x == gridDim.x - 1) end = n; \
    (void)tid; (void)first; (void)end;

// Returns thread `who`'s share of a block's elements: whole vectors, then the rest; `many` threads share the block.
__device__ Element loaded(const Element* in, ull n, ull first, ull end, unsigned int who, unsigned int many)
{
    Element sum = none();
    for (ull i = first / Width + who; i < end / Width; i += many) {
        Vector vector = ((const Vector*)in)[i];
        for (int e = 0; e < Width; e++) sum = add(sum, vector.data[e]);
    }
    for (ull i = max(first, end / Width * Width) + who; i < end; i += many) sum = add(sum, in[i]);
    return sum;
}

#if TASK == 16
const unsigned int Words = sizeof(Element) / 4;
union Message { Element value; unsigned int word[Words]; };

// Publishes a value word by word; each word has its own flag.
__device__ void publish(ull* slot, Element value)
{
    Message message = {value};
    for (int w = 0; w < Words; w++) atomicExch(slot + w, 1ull << 32 | message.word[w]);
}

// Polls for a value, and clears its flags.
__device__ Element consume(ull* slot)
{
    Message message;
    for (int w = 0; w < Words; w++) {
        ull seen;
        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);
        message.word[w] = (unsigned int)seen;
    }
    return message.value;
}
#endif

// Stores the sum of a block, which thread 0 holds; in a single launch, the last block adds the partial sums too.
#if SINGLE
#define STORE(sum) do { \
    __shared__ bool last; \
    if (threadIdx.x == 0) { \
        partials[blockIdx.x] = (sum); \
        __threadfence(); \
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; \
        __threadfence(); \
    } \
    __syncthreads(); \
    if (last) { \
        Element total = none(); \
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) total += partials[b]; \
        total = tree(total); \
        if (threadIdx.x == 0) *out = total; \
    } \
} while (0)
#elif TASK == 16
#define STORE(sum) do { \
    if (threadIdx.x == 0) publish(slots + blockIdx.x * Words, sum); \
    if (blockIdx.x < gridDim.x - 1) return; \
    Element total = tree(threadIdx.x < gridDim.x ? consume(slots + threadIdx.x * Words) : none()); \
    if (threadIdx.x == 0) *out = total; \
} while (0)
#elif TASK == 11
#define STORE(sum) do { if (threadIdx.x == 0) *out = (sum); } while (0)
#elif TASK == 14
#define STORE(sum) static_assert(TASK != 14, "store both")
#else
#define STORE(sum) do { if (threadIdx.x == 0) out[blockIdx.x] = (sum); } while (0)
#endif
#define KERNEL extern "C" __global__ void reduce(PARAMETERS)
