// A block sum, written with cooperative groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    Element sum = i < n ? in[i] : 0;
    for (int s = warp.size() / 2; s > 0; s /= 2) sum += warp.shfl_down(sum, s);
    if (warp.thread_rank() == 0) shared[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        sum = warp.thread_rank() < warp.meta_group_size() ? shared[warp.thread_rank()] : 0;
        warp.sync();
        for (int s = warp.size() / 2; s > 0; s /= 2) sum += warp.shfl_xor(sum, s);
        if (warp.thread_rank() == 0) out[blockIdx.x] = sum;
    }
}
