// The instructions of an operation, as placeholders. Before the PTX is passed to the driver, the crate replaces each
// placeholder's line with instructions of the operation for the type of the elements (operations/*.rs, join.rs).
struct alignas(16) Values { Acc at[16 / sizeof(Acc)]; };

// Combining a value with the neutral element changes no bit, so missing elements are replaced with neutral elements and
// combined like all others.
struct Op {
    // The crate also replaces this constant, and the constants in `blank`. With placeholder instructions instead, the
    // compiler would keep the results in registers.
    __device__ static Local start() { return (Local)0x5354415453544154; }
    __device__ static Acc none() { Acc a; asm("NONE %0;" : "=" VALUES (a)); return a; }
    __device__ static Acc empty() { Acc a; asm("EMPTY %0;" : "=" VALUES (a)); return a; }
    // Adds an element, or two of them in one word, to a thread's accumulator.
    __device__ static Local add(Local a, Operand b)
    {
        Local c;
        asm("ADD %0, %1, %2;" : "=" LOCALS (c) : LOCALS (a), OPERANDS (b));
        return c;
    }
    // Converts an accumulator to a value.
    __device__ static Acc value(Local a) { Acc b; asm("VALUE %0, %1;" : "=" VALUES (b) : LOCALS (a)); return b; }
    __device__ static Acc join(Acc a, Acc b)
    {
        Acc c;
        asm("JOIN %0, %1, %2;" : "=" VALUES (c) : VALUES (a), VALUES (b));
        return c;
    }
    // Converts the value of `n` elements to the result.
    __device__ static Acc result(Acc a, u64 n)
    {
        Acc b;
        asm("RESULT %0, %1, %2;" : "=" VALUES (b) : VALUES (a), "l"(n));
        return b;
    }
};

// Returns a vector of neutral elements.
__device__ Vector blank()
{
    Vector vector;
#if ELEMENT < 4
    // From a constant, the compiler would extract bytes and halves, which the crate could not replace.
    asm("BLANK %0;" : "=r"(vector.word[0]));
    for (int i = 1; i < 4; i++) vector.word[i] = vector.word[0];
#else
    // The two words of a double differ, because the compiler splits the constant into words.
    for (int i = 0; i < 2; i++) vector.pair[i] = ELEMENT == 8 ? 0x5354535453544c4f : 0x53544c4f53544c4f;
#endif
    return vector;
}

// Stores the result of `n` elements.
__device__ void store(void* out, Acc value, u64 n, u32 epoch) { answer(out, Op::result(value, n), epoch); }

