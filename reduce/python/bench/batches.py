"""Tests batch invariance: records the bits and the time of one row's sum and mean in batches of 1 to 4096 rows.

    python batches.py --out FOLDER [--rounds 20]

Writes batches.csv.gz, which has for each function, library (`way`), row length and batch the bits
of the row's result in hexadecimal, and samples of GPU times.
"""

import argparse
import gzip
import os
import struct
import sys

import samebits
import torch

from timing import Device, Gate, rounds

BATCHES = [1, 2, 3, 7, 8, 16, 31, 64, 100, 256, 1000, 2048, 4096]
ELEMENTS = [128, 1000, 4096, 16_384, 100_003]

WAYS = {
    ("sum", "torch"): lambda x: torch.sum(x, -1),
    ("sum", "samebits"): lambda x: samebits.sum(x, -1),
    ("mean", "torch"): lambda x: torch.mean(x, -1),
    ("mean", "samebits"): lambda x: samebits.sum(x, -1) / x.shape[-1],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    generator = torch.Generator(device="cuda").manual_seed(1)
    with torch.cuda.stream(torch.cuda.Stream()), gzip.open(
        os.path.join(arguments.out, "batches.csv.gz"), "wt"
    ) as file:
        torch.zeros(1, device="cuda")
        clock = Device(Gate())
        file.write("function,way,elements,batch,bits,round,ns\n")
        for elements in ELEMENTS:
            row = torch.randn(elements, device="cuda", generator=generator)
            for batch in BATCHES:
                x = torch.randn(batch, elements, device="cuda", generator=generator)
                x[batch // 2] = row
                found = {
                    key: struct.pack(">f", way(x)[batch // 2].item()).hex() for key, way in WAYS.items()
                }
                runs = {key: lambda way=way: way(x) for key, way in WAYS.items()}
                for (function, way), number, ns in rounds(clock, runs, arguments.rounds):
                    bits = found[function, way]
                    file.write(f"{function},{way},{elements},{batch},{bits},{number},{ns}\n")
            print(elements, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
