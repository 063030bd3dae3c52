"""Writes the run that train.html trains: a classifier of points, its training step and a batch.

python examples/web/run.py              # writes examples/web/run
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

import gradc

FOLDER = Path(__file__).parent / "run"


def classifier() -> ModelProto:
    """Two layers: points [N, 2] to logits [N, 3]."""
    rng = np.random.default_rng(0)
    weights = {
        "hidden.weight": rng.standard_normal((2, 32)),
        "hidden.bias": rng.standard_normal(32),
        "head.weight": rng.standard_normal((32, 3)) / 8,
        "head.bias": np.zeros(3),
    }
    nodes = [
        helper.make_node("Gemm", ["points", "hidden.weight", "hidden.bias"], ["a"], name="hidden"),
        helper.make_node("Relu", ["a"], ["h"]),
        helper.make_node("Gemm", ["h", "head.weight", "head.bias"], ["logits"], name="head"),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("points", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def rings(count: int) -> dict[str, np.ndarray]:
    """Random points; the class is the ring around the origin in which a point lies."""
    points = np.random.default_rng(1).standard_normal((count, 2)).astype(np.float32)
    return {"points": points, "label": np.digitize(np.hypot(*points.T), [0.8, 1.5]).astype(np.int64)}


if __name__ == "__main__":
    loss, optimizer = gradc.losses.CrossEntropy(), gradc.optim.AdamW()
    step = gradc.train_step(classifier(), loss=loss, optimizer=optimizer, target="portable")
    step.save(FOLDER, force=True)
    save_file(rings(256), FOLDER / "batch.safetensors")
    print(f"{FOLDER}: {sum(step.initial[name].size for name in step.parameters)} parameters")
