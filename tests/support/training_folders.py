"""Hand-written folders of training runs: least squares by SGD with momentum; and the loop in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gradc.training.folder import write_folder

MOMENTUM = 0.9
PARAMETERS = ("w", "b")
NUMBERS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE}
Shape = Sequence[int | str]


def initial(dtype: Any = np.float32) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {"w": rng.standard_normal((3, 2)).astype(dtype), "b": np.array([0.5, -1.0], dtype)}


def batch_of(size: int, seed: int = 0, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.standard_normal((size, width)).astype(dtype) for name, width in (("x", 3), ("label", 2))
    }


def forward() -> list[NodeProto]:
    return [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["y"]),
    ]


def loss() -> list[NodeProto]:
    return [
        *forward(),
        helper.make_node("Sub", ["y", "label"], ["difference"]),
        helper.make_node("Mul", ["difference", "difference"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0),
    ]


def gradients() -> list[NodeProto]:
    """The loss, the gradients of w and b, and a running mean of x."""
    return [
        *loss(),
        helper.make_node("Size", ["difference"], ["count_of"]),
        helper.make_node("CastLike", ["count_of", "loss"], ["size"]),
        helper.make_node("Add", ["difference", "difference"], ["twice"]),
        helper.make_node("Div", ["twice", "size"], ["cotangent"]),
        helper.make_node("Transpose", ["x"], ["x_t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x_t", "cotangent"], ["g_w"]),
        helper.make_node("ReduceSum", ["cotangent", "first"], ["g_b"], keepdims=0),
        helper.make_node("ReduceMean", ["x", "first"], ["mean_now"], keepdims=0),
        helper.make_node("Add", ["mean_now", "mean"], ["mean_sum"]),
        helper.make_node("Mul", ["mean_sum", "half"], ["new_mean"]),
    ]


def update(name: str, gradient: str) -> list[NodeProto]:
    state = f"{name}.momentum_buffer"
    return [
        helper.make_node("Mul", [state, "momentum"], [f"{name}_kept"]),
        helper.make_node("Add", [f"{name}_kept", gradient], [f"new_{state}"]),
        helper.make_node("CastLike", ["lr", name], [f"{name}_rate"]),
        helper.make_node("Mul", [f"new_{state}", f"{name}_rate"], [f"{name}_delta"]),
        helper.make_node("Sub", [name, f"{name}_delta"], [f"new_{name}"]),
    ]


class Shapes:
    """Declared values of the models, of one type of floats."""

    def __init__(self, dtype: Any, batch: int | str = "N"):
        self.number = NUMBERS[np.dtype(dtype)]
        self.sizes: dict[str, Shape] = {"x": [batch, 3], "label": [batch, 2], "y": [batch, 2], "mean": [3]}
        self.sizes |= {"w": [3, 2], "b": [2], "loss": []}

    def info(self, name: str) -> Any:
        if name in ("step", "seed"):
            return helper.make_tensor_value_info(name, TensorProto.INT64, [])
        if name in ("lr", "count"):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [])
        plain = name.removeprefix("new_").removeprefix("grad_").removesuffix(".momentum_buffer")
        return helper.make_tensor_value_info(name, self.number, self.sizes[plain])

    def model(
        self,
        nodes: Sequence[NodeProto],
        inputs: Sequence[str],
        outputs: Sequence[str],
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> ModelProto:
        stored = {"first": np.array([0]), **(arrays or {})}
        dtype = helper.tensor_dtype_to_np_dtype(self.number)
        stored |= {"half": np.array(0.5, dtype), "momentum": np.array(MOMENTUM, dtype)}
        read = {name for node in nodes for name in node.input}
        graph = helper.make_graph(
            nodes,
            "g",
            [self.info(name) for name in inputs],
            [self.info(name) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in stored.items() if name in read],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


STATES = [f"{name}.momentum_buffer" for name in PARAMETERS]
UPDATED = [*PARAMETERS, *STATES]


def write_run(
    folder: Path, *, accumulate: int = 0, batch: int | str = "N", dtype: Any = np.float32, **facts: Any
) -> None:
    shapes = Shapes(dtype, batch)
    arrays = initial(dtype)
    models = {
        "eval.onnx": shapes.model(loss(), ["x", "label", "w", "b"], ["loss", "y"]),
        "model.onnx": shapes.model(forward(), ["x"], ["y"], arrays),
    }
    if accumulate:
        models |= _accumulating(shapes)
    else:
        updates = [node for name in PARAMETERS for node in update(name, f"g_{name}")]
        inputs = ["x", "label", "lr", "step", "seed", *UPDATED, "mean"]
        outputs = ["loss", "y", *(f"new_{name}" for name in UPDATED), "new_mean"]
        models["step.onnx"] = shapes.model([*gradients(), *updates], inputs, outputs)
    known = {
        "updates": {name: f"new_{name}" for name in (*UPDATED, "mean")},
        "batch": ["x"],
        "labels": ["label"],
        "scalars": {"lr": "float32", "step": "int64", "seed": "int64"},
        "outputs": ["loss", "y"],
        "parameters": list(PARAMETERS),
        "statistics": ["mean"],
        "states": {f"{name}.momentum_buffer": {"of": name, "slot": "momentum_buffer"} for name in PARAMETERS},
        "evaluation": {name: name for name in PARAMETERS},
        "export": {name: {"from": name} for name in PARAMETERS},
        "in_place": False,
    }
    if accumulate:
        known |= {
            "accumulate": accumulate,
            "gradients": {f"grad_{name}": f"new_grad_{name}" for name in PARAMETERS},
        }
    state = {name: np.zeros_like(arrays[name.partition(".")[0]]) for name in STATES}
    write_folder(folder, models, {**arrays, "mean": np.zeros(3, dtype)}, state, {**known, **facts})


def _accumulating(shapes: Shapes) -> dict[str, ModelProto]:
    sums = [
        helper.make_node("Add", [f"grad_{name}", f"g_{name}"], [f"new_grad_{name}"]) for name in PARAMETERS
    ]
    averages = [
        node
        for name in PARAMETERS
        for node in (
            helper.make_node("CastLike", ["count", name], [f"{name}_count"]),
            helper.make_node("Div", [f"grad_{name}", f"{name}_count"], [f"{name}_average"]),
            *update(name, f"{name}_average"),
        )
    ]
    totals = [f"grad_{name}" for name in PARAMETERS]
    new_totals = [f"new_{name}" for name in totals]
    first = shapes.model(
        [*gradients(), *sums],
        ["x", "label", "seed", *PARAMETERS, "mean", *totals],
        ["loss", "y", *new_totals, "new_mean"],
    )
    second = shapes.model(
        averages, [*UPDATED, *totals, "count", "lr", "step"], [f"new_{name}" for name in UPDATED]
    )
    return {"gradients.onnx": first, "apply.onnx": second}


class Loop:
    """The same training in numpy."""

    def __init__(self, dtype: Any = np.float64):
        self.arrays = initial(dtype)
        self.buffers = {name: np.zeros_like(array) for name, array in self.arrays.items()}

    def step(self, batch: Mapping[str, np.ndarray], lr: float) -> float:
        x, label = batch["x"], batch["label"]
        difference = x @ self.arrays["w"] + self.arrays["b"] - label
        cotangent = 2 * difference / difference.size
        for name, gradient in {"w": x.T @ cotangent, "b": cotangent.sum(0)}.items():
            self.buffers[name] = MOMENTUM * self.buffers[name] + gradient
            self.arrays[name] = self.arrays[name] - lr * self.buffers[name]
        return float((difference**2).mean())
