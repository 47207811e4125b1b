// v0 in OpenCL C, for Oclgrind: the same loads, additions and barriers.
kernel void reduce(global const float* in, global float* out, ulong n, local float* shared)
{
    uint tid = get_local_id(0);
    ulong i = get_global_id(0);
    shared[tid] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (tid % (2 * s) == 0) {
            shared[tid] += shared[tid + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0) {
        out[get_group_id(0)] = shared[0];
    }
}
