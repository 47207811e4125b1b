// A partial sum and its flag in one store: the last block waits for mail, and nobody for a fence.
// Still costs: a register for every byte in flight.
struct alignas(16) Word { Element at[16 / sizeof(Element)]; };
const unsigned int Lanes = 16 / sizeof(Element), Flight = 8, Block = 512, Halves = sizeof(Element) / 4;
union Mail { Element value; unsigned int half[Halves]; };

// A thread's share of part p: `part` words, and what is left behind the last part's.
__device__ Element add(const Element* in, unsigned long long n, unsigned long long part, unsigned int p)
{
    unsigned int tid = threadIdx.x;
    unsigned long long i = p * part + tid, end = min((p + 1) * part, n / Lanes);

    // Load: eight words a thread in every turn, zero beyond the end; then what is left of a word.
    const Word* words = (const Word*)in;
    Word sums = {};
    #pragma unroll 1
    for (; i < end; i += Flight * Block) {
        Word next[Flight] = {};
        for (int k = 0; k < Flight; k++) if (i + k * Block < end) next[k] = words[i + k * Block];
        for (int k = 0; k < Flight; k++) for (int e = 0; e < Lanes; e++) sums.at[e] += next[k].at[e];
    }
    Element sum = end == n / Lanes && tid < n % Lanes ? in[n - 1 - tid] : 0;
    for (int e = 0; e < Lanes; e++) sum += sums.at[e];
    return sum;
}

// Reduce: each warp to one value, then the first warp those values; thread 0 has the sum.
__device__ Element tree(Element sum)
{
    __shared__ Element shared[Block / 32];
    unsigned int tid = threadIdx.x;
    __syncthreads(); // The last value that was put there has been read.
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tid % 32 == 0) shared[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
    return sum;
}

// Puts a value into its box, 32 bits and a flag at once: whoever sees the flag has the bits.
__device__ void post(unsigned long long* box, Element value)
{
    Mail mail = {value};
    for (int h = 0; h < Halves; h++) atomicExch(box + h, 1ull << 32 | mail.half[h]);
}

// Waits for the flag of a value, and takes it down.
__device__ Element take(unsigned long long* box)
{
    Mail mail;
    for (int h = 0; h < Halves; h++) {
        unsigned long long word;
        do word = atomicAnd(box + h, 0xffffffff); while (word >> 32 == 0);
        mail.half[h] = (unsigned int)word;
    }
    return mail.value;
}

extern "C" __global__ void __launch_bounds__(Block, 2) reduce(
    const Element* in, Element* out, unsigned long long n, unsigned long long part, unsigned int parts,
    unsigned long long* boxes)
{
    Element sum = 0;
    // Store: the sum of each part, then that of all.
    for (unsigned int p = blockIdx.x; p < parts; p += gridDim.x) {
        sum = tree(add(in, n, part, p));
        if (threadIdx.x == 0 && parts > 1) post(boxes + p * Halves, sum);
    }
    if (blockIdx.x < gridDim.x - 1) return;
    if (parts > 1) sum = tree(threadIdx.x < parts ? take(boxes + threadIdx.x * Halves) : 0);
    if (threadIdx.x == 0) *out = sum;
}
