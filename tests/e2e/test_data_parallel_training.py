"""The recipe for several machines: processes that average their gradients train like one process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.trainable_models import batch_for, perceptron

import gradc
from gradc.training import trainer as module

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "training" / "data_parallel.py"
STEPS = 5


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.heavy
def test_two_processes_have_the_losses_of_one(tmp_path: Path):
    pytest.importorskip("torch.distributed", reason="pip install -e '.[torch]' brings torch")
    step = gradc.train_step(
        perceptron(),
        loss=gradc.losses.CrossEntropy(),
        optimizer=gradc.optim.AdamW(),
        accumulate=1,
        check=False,
    )
    step.save(tmp_path / "run")
    for file in (module.__file__, SCRIPT):
        shutil.copy(file, tmp_path)
    batch = batch_for((4,), 16)
    np.savez(tmp_path / "b.npz", **batch)
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    processes = [
        subprocess.Popen(
            [sys.executable, SCRIPT.name, "run", "b.npz", str(STEPS)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **address, "RANK": str(rank)},
        )
        for rank in range(2)
    ]
    texts = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], texts
    one = gradc.Trainer(tmp_path / "run", threads=1)
    want = [one.step(batch, lr=1e-2) for _ in range(STEPS)]
    np.testing.assert_allclose(json.loads(texts[0][0]), want, rtol=1e-5)
    first, second = (module.read_safetensors(tmp_path / f"trained{rank}.safetensors") for rank in range(2))
    for name, array in one.parameters().items():
        np.testing.assert_array_equal(first[name].array, second[name].array)
        np.testing.assert_allclose(first[name].array, array, rtol=1e-3, atol=1e-5)
