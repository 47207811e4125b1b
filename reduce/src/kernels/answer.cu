// Stores a result. If `epoch` is 0, the result is for later work in the stream. Otherwise, a host thread polls for it:
// each store holds 32 bits of the result, and the epoch as a flag.
__device__ void answer(void* out, Acc value, u32 epoch)
{
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

