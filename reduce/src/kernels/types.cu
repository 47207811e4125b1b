// Elements and values are unsigned integers here; the instructions of an operation interpret their bits
// (operation.cu).
//
// ELEMENT, LOCAL and VALUE are the sizes in bytes of an element in memory, of a thread's accumulators, and of the
// values that threads and blocks exchange. With PAIRS, an accumulator adds two elements with one instruction. THREADS,
// ROWS and RESIDENT are parameters of the entry point.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if ELEMENT == 1
typedef u8 In;
#elif ELEMENT == 2
typedef u16 In;
#elif ELEMENT == 4
typedef u32 In;
#else
typedef u64 In;
#endif

#if LOCAL == 8
typedef u64 Local;
#define LOCALS "l"
#else
typedef u32 Local;
#define LOCALS "r"
#endif

#if VALUE == 8
typedef u64 Acc;
#define VALUES "l"
#else
typedef u32 Acc;
#define VALUES "r"
#endif

// The type of an operand: an element, or a word with two elements.
#if ELEMENT == 8
typedef u64 Operand;
#define OPERANDS "l"
#elif ELEMENT == 2 && !PAIRS
typedef u16 Operand;
#define OPERANDS "h"
#else
typedef u32 Operand;
#define OPERANDS "r"
#endif

