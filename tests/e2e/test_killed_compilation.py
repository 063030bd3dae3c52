"""A compilation that is killed (SIGKILL) leaves nothing, or the whole model."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from support import killing
from support.tiers import some

import gradc
from gradc.files import npz
from gradc.files.atomic import HIDDEN
from gradc.model import saving

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

KILLS = len(some(range(25), 4))
FILL = (1.0, 2.0)
"""What the weights of the two variants are full of."""


@pytest.fixture
def arguments(tmp_path) -> list[str]:
    """Compile a convolution with 2 MB of weights, of one content or another, to models/m.onnx."""
    graph = gradc.Graph()
    dy, w = graph.input("dy", "f32", [1, 256, 4, 4]), graph.input("w", "f32", [256, 256, 3, 3])
    window = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    formats = {"data_format": "NCX", "weights_format": "OIX"}
    graph.output(graph.convolution_backward_data(dy, w, (1, 256, 4, 4), **window, **formats), "dx")
    (tmp_path / "g.mlir").write_text(str(graph.module()))
    for i, fill in enumerate(FILL):
        npz.write_npz(tmp_path / f"w{i}.npz", {"w": np.full((256, 256, 3, 3), fill, np.float32)})
    (tmp_path / "models").mkdir()
    places = [str(tmp_path / name) for name in ("g.mlir", "w{i}.npz", "models/m.onnx")]
    return ["compile", places[0], "--constants", places[1], "-o", places[2], "--strategy", "conv-to-conv"]


def kill(arguments: list[str], folder: Path, limit: int, fresh: bool) -> list[Path]:
    """The folder as each killed compilation left it."""
    options = [folder / "models", folder / "left", KILLS, limit, int(fresh)]
    command = [sys.executable, killing.__file__, *map(str, options), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= KILLS
    return [folder / "left" / str(turn) for turn in range(KILLS)]


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def fill_of(folder: Path) -> float:
    """What the weights of the model in a folder are full of; onnx holds data against the model."""
    model = onnx.load(folder / "m.onnx")
    onnx.checker.check_model(model)
    weights = max(map(onnx.numpy_helper.to_array, model.graph.initializer), key=np.size)
    assert weights.min() == weights.max()
    return float(weights.flat[0])


@pytest.mark.sweep(group="killed", parts=3)
def test_a_new_model_is_whole_or_not_there(arguments, tmp_path):
    for left in kill(arguments, tmp_path, saving.PROTO_LIMIT, fresh=True):
        assert names(left) <= {"m.onnx"}
        if names(left):
            assert fill_of(left) in FILL


@pytest.mark.sweep(group="killed", parts=3)
def test_a_model_that_is_replaced_is_the_old_or_the_new_one(arguments, tmp_path):
    for left in kill(arguments, tmp_path, saving.PROTO_LIMIT, fresh=False):
        assert fill_of(left) in FILL
        assert all(HIDDEN.fullmatch(name) for name in names(left) - {"m.onnx"})
    assert names(tmp_path / "models") == {"m.onnx"}


@pytest.mark.sweep(group="killed", parts=3)
def test_a_model_never_stands_beside_data_of_another(arguments, tmp_path):
    for left in kill(arguments, tmp_path, 0, fresh=False):
        assert fill_of(left) in FILL
        for data in left.glob("m.onnx.*.data"):
            assert hashlib.sha256(data.read_bytes()).hexdigest()[:16] == data.name.split(".")[2]
    assert len(names(tmp_path / "models")) == 2
