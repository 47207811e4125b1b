// Integer and float operations without memory accesses in between: sixteen words per thread.
__constant__ unsigned int table[4] = { 3, 5, 7, 11 };

extern "C" __global__ void numbers(const int* in, unsigned int* out, unsigned long long n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = in[i], b = in[(i + 1) % n] | 1;
    unsigned int ua = a, ub = b;
    unsigned int* row = out + 16 * (unsigned long long)i;
    row[0] = __popc(ua) + 100 * __clz(a) + 10000 * __ffs(a);
    row[1] = __brev(ua);
    row[2] = ua / ub + ua % ub;
    row[3] = b == -1 ? 0 : a / b - a % b;
    row[4] = __mulhi(a, b) ^ __umulhi(ua, ub);
    row[5] = (a >> (ub & 31)) + (ua >> (ub & 31)) + (ua << (ub & 31));
    row[6] = __funnelshift_l(ua, ub, 7) ^ __byte_perm(ua, ub, 0x5140);
    row[7] = max(a, b) - min(ua, ub) + abs(a);
    row[8] = (unsigned char)a + (signed char)(a >> 8) + (short)a + (unsigned short)(a >> 3);
    row[9] = __float_as_uint((float)a * 1.5f + (float)ub);
    row[10] = (int)((float)a / 3.0f) + (unsigned int)__double2ll_rn((double)b * 0.5);
    row[11] = __float_as_uint(sqrtf(fabsf((float)a))) ^ __float_as_uint(fminf((float)a, (float)b));
    double d = (double)a / (double)b;
    row[12] = (unsigned int)__double2hiint(d) ^ (unsigned int)__double2loint(d);
    long long wide = (long long)a * b;
    row[13] = (unsigned int)(wide >> 32) ^ (unsigned int)wide ^ (unsigned int)(wide / 7);
    row[14] = table[ua & 3] * 2;
    // An array with a run-time index lies in local memory.
    unsigned int local[8];
    for (unsigned int k = 0; k < 8; ++k) local[(k * 3 + ua) & 7] = k * ub;
    row[15] = local[ub & 7];
}
