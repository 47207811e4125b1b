// A block sum by tiles of two warps and of four warps: cooperative groups keep their barriers and
// values in shared memory that belongs to the system.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    cg::thread_block block = cg::this_thread_block();
    auto pair = cg::tiled_partition<64>(block);
    auto four = cg::tiled_partition<128>(block);
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? in[i] : 0;
    pair.sync();
    Element sum = shared[threadIdx.x ^ 32];
    sum = cg::reduce(pair, sum, cg::plus<Element>());
    if (pair.thread_rank() != 0) sum = 0;
    sum = cg::reduce(four, sum, cg::plus<Element>());
    if (four.thread_rank() == 0) out[blockIdx.x * (blockDim.x / 128) + four.meta_group_rank()] = sum;
}
