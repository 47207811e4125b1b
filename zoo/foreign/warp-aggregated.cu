// Warp-aggregated atomics (Adinetz, NVIDIA's developer blog, 2014): one atomic takes the tickets of all lanes that keep an element.
extern "C" __global__ void run(const int* in, int* out, unsigned int n, unsigned int* kept)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= 0) return;
    unsigned int peers = __activemask(), lane = threadIdx.x % 32, leader = __ffs(peers) - 1, place;
    if (lane == leader) place = atomicAdd(kept, __popc(peers));
    place = __shfl_sync(peers, place, leader) + __popc(peers & ((1u << lane) - 1));
    out[place] = in[i];
}
