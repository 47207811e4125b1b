// Stream compaction by votes (Billeter, Olsson and Assarsson, 2009): elements stay in order; each iteration handles a tile of the block's size.
extern "C" __global__ void run(const int* in, int* out, unsigned int n)
{
    __shared__ unsigned int counts[4];
    unsigned int tid = threadIdx.x, lane = tid % 32, base = 0;
    for (unsigned int first = 0; first < n; first += 128) {
        bool keep = first + tid < n && in[first + tid] % 3 == 0;
        unsigned int votes = __ballot_sync(0xffffffff, keep);
        if (lane == 0) counts[tid / 32] = __popc(votes);
        __syncthreads();
        unsigned int place = base + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < 4; w++) {
            if (w < tid / 32) place += counts[w];
            base += counts[w];
        }
        if (keep) out[place] = in[first + tid];
        __syncthreads();
    }
}
