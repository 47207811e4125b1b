// Every warp reduction that the hardware has, one result after another.
extern "C" __global__ void redux(const unsigned int* in, unsigned int* out, unsigned long long n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int value = i < n ? in[i] : 0;
    unsigned int sum = __reduce_add_sync(0xffffffff, value);
    unsigned int least = __reduce_min_sync(0xffffffff, value);
    unsigned int most = __reduce_max_sync(0xffffffff, value);
    int least_signed = __reduce_min_sync(0xffffffff, (int)value);
    int most_signed = __reduce_max_sync(0xffffffff, (int)value);
    unsigned int all = __reduce_and_sync(0xffffffff, value);
    unsigned int any = __reduce_or_sync(0xffffffff, value);
    unsigned int odd = __reduce_xor_sync(0xffffffff, value);
    if (threadIdx.x % 32 == 0) {
        unsigned int* row = out + 8 * (i / 32);
        row[0] = sum;
        row[1] = least;
        row[2] = most;
        row[3] = least_signed;
        row[4] = most_signed;
        row[5] = all;
        row[6] = any;
        row[7] = odd;
    }
}
