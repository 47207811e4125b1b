"""Times torch's sum followed by all_reduce, with one process per GPU. Start it with torchrun. Prints CSV."""

import os
import sys
import time

import torch
import torch.distributed as dist

assert os.environ.get("NCCL_NVLS_ENABLE") == "0", "NVLink multicast must be disabled: set NCCL_NVLS_ENABLE=0"
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
world = dist.get_world_size()
for n in map(int, sys.argv[1:]):
    share = -(-n // world)
    # The copies are read in rotation. Their total size exceeds the size of every L2 cache.
    copies = max(1, min(64, (512 << 20) // (4 * share)))
    all = torch.randn(copies, share, device="cuda")
    for clock, count in (("caller", 40), ("queued", 50)):
        for warm in (True, False):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for turn in range(count):
                start = time.perf_counter()
                total = all[turn % copies].sum()
                dist.all_reduce(total)
                if clock == "caller":
                    total.item()
                    if rank == 0 and not warm:
                        print(f"{n},torch,caller,{turn},0,{(time.perf_counter() - start) * 1e6:.3f}")
            torch.cuda.synchronize()
            if rank == 0 and clock == "queued" and not warm:
                print(f"{n},torch,queued,0,0,{(time.perf_counter() - begin) / count * 1e6:.3f}")
    del all
dist.destroy_process_group()
