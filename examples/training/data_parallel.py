"""Trains a run in several processes that average their gradients, by torch.distributed with gloo.

    gradc train model.onnx --loss cross-entropy --optimizer adamw --accumulate 1 -o run
    torchrun --nproc-per-node 2 data_parallel.py run batches.npz 100

The process of rank 0 prints the losses of the whole batch as JSON. Needs numpy, onnxruntime, torch, and
gradc's trainer.py next to this file.
"""

import json
import sys

import numpy as np
import torch
import torch.distributed as dist
from trainer import Trainer


def average(gradients):
    dist.all_reduce(torch.from_numpy(gradients))
    gradients /= dist.get_world_size()


def main(run, data, steps):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    trainer = Trainer(run, threads=1, all_reduce=average)
    trainer.seed = rank
    own = {name: array[rank::size] for name, array in np.load(data, allow_pickle=False).items()}
    losses = []
    for _ in range(int(steps)):
        loss = torch.tensor(trainer.step(own, lr=1e-2))
        dist.all_reduce(loss)
        losses.append(loss.item() / size)
    trainer.save(f"trained{rank}.safetensors")
    if rank == 0:
        print(json.dumps(losses))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
