"""Memory and time of training steps in this process, which `step_memory` starts: one JSON object on stdout.

python -m gradc.bench.races.memory_child trainer FOLDER BATCH.npz THREADS
python -m gradc.bench.races.memory_child torch NETWORK BATCH.npz THREADS SEED
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradc.bench.races.step_networks import RATE, STEP_NETWORKS, eager_step

STEPS = 4

Step = Callable[[], float]


def resident(key: str) -> int:
    """Return an entry of /proc/self/status in bytes: VmRSS is the resident memory, VmHWM its peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(f"{key}:"))


def measure(make: Callable[[], Step]) -> dict[str, float]:
    """Return the growth of the resident memory, the CPU time of the fastest step, and the first loss."""
    before, losses, seconds = resident("VmRSS"), list[float](), list[float]()
    step = make()
    for _ in range(STEPS):
        start = time.process_time()
        losses.append(step())
        seconds.append(time.process_time() - start)
    return {"bytes": resident("VmHWM") - before, "seconds": min(seconds), "loss": losses[0]}


def trainer_step(folder: str, batch: dict[str, np.ndarray], threads: int) -> Callable[[], Step]:
    from gradc.training.trainer import Trainer

    def make() -> Step:
        trainer = Trainer(folder, threads=threads)
        return lambda: trainer.step(batch, lr=RATE)

    return make


def torch_step(name: str, batch: dict[str, np.ndarray], threads: int, seed: int) -> Callable[[], Step]:
    """Return the maker of a step of eager torch; importing torch does not count as growth."""
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    x, label = (torch.tensor(batch[one]) for one in ("x", "label"))

    def make() -> Step:
        torch.manual_seed(seed)
        module = STEP_NETWORKS[name].make(torch).train()
        return eager_step(torch, module, module.parameters(), x, label)

    return make


def main(arguments: list[str]) -> None:
    kind, what, path, threads = arguments[:4]
    with np.load(path, allow_pickle=False) as file:
        batch = dict(file)
    is_torch = kind == "torch"
    make = (
        torch_step(what, batch, int(threads), int(arguments[4]))
        if is_torch
        else trainer_step(what, batch, int(threads))
    )
    print(json.dumps(measure(make)))


if __name__ == "__main__":
    main(sys.argv[1:])
