// Searches short rows, each of which is read by `lanes` lanes of a warp (a power of two).
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(
    const In* in, void* first, void* second, u64 m, u64 n, u64 pitch, u32 lanes, u32 chunks, u64* state, u32 epoch)
{
    const u32 lane = threadIdx.x % 32, each = 32 / lanes;
    const u64 step = (u64)gridDim.x * (THREADS / 32) * each;
    #pragma unroll 1
    for (u64 begin = ((u64)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * each; begin < m; begin += step) {
        const u64 index = begin + lane / lanes;
        const Row row = row_at(in + (index < m ? index : begin) * pitch, n);
        Best best;
        scan(best, row, 0, row.vectors(), row.vectors(), lane % lanes, lanes);
        const Value value = lanes_of(best.all(0), lanes);
        if (lane % lanes == 0 && index < m) put(row, value, n, first, second, index, epoch);
    }
}
