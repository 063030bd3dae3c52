"""A builder of small ONNX models with random weights, for tests of the gradient proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import gradc

DYNAMIC = 2
"""The size that stands for a dynamic dimension in feeds."""


@dataclass(frozen=True)
class ProofModel:
    """A model, the values its gradient is taken of and by, and inputs to run it with.

    options: further arguments of `gradc.vjp`.
    order: 2 for the product of the second derivative with a vector, by `gradc.hvp`.
    """

    model: onnx.ModelProto
    of: Sequence[str]
    wrt: Sequence[str]
    feeds: Mapping[str, np.ndarray]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    order: int = 1

    def gradient(self, *, check: bool) -> gradc.Compiled:
        given = {"of": list(self.of), "wrt": list(self.wrt), "allow_unused": True, "check": check}
        if self.order == 2:
            return gradc.hvp(self.model, reduce="sum", **given, **self.options)
        return gradc.vjp(self.model, **given, **self.options)

    def run(self, compiled: gradc.Compiled) -> dict[str, np.ndarray]:
        """The gradients at the feeds, for random cotangents or tangents."""
        rng = np.random.default_rng(1)
        values = self.results if self.order == 1 else {name: self.primals[name] for name in self.wrt}
        vectors = {
            compiled.cotangents[name]: rng.normal(size=value.shape).astype(value.dtype)
            for name, value in values.items()
        }
        return compiled.run({**self.feeds, **vectors})

    @property
    def primals(self) -> Mapping[str, np.ndarray]:
        """The values of inputs and weights by name."""
        weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer}
        return {**weights, **self.feeds}

    @cached_property
    def results(self) -> dict[str, np.ndarray]:
        session = onnxruntime.InferenceSession(self.model.SerializeToString(), _quiet())
        found = session.run(list(self.of), dict(self.feeds))
        return dict(zip(self.of, map(np.asarray, found), strict=True))


def _quiet() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


@dataclass
class Net:
    """Collects nodes, weights and inputs. Weights are scaled so that activations keep their size."""

    seed: int = 0
    opset: int = 17
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    feeds: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    wrt: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def input(self, name: str, *shape: int | str, dtype: Any = np.float32, high: int = 0) -> str:
        """A float input, one of `wrt`; with `high` an int64 input of indices below it."""
        sizes = [size if isinstance(size, int) else DYNAMIC for size in shape]
        if high:
            self.feeds[name] = self.rng.integers(0, high, sizes)
        else:
            self.feeds[name] = self.rng.normal(size=sizes).astype(dtype)
            self.wrt.append(name)
        element = helper.np_dtype_to_tensor_dtype(self.feeds[name].dtype)
        self.inputs.append(helper.make_tensor_value_info(name, element, list(shape)))
        return name

    def flag(self, name: str, value: bool) -> str:
        self.feeds[name] = np.array(value)
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.BOOL, []))
        return name

    def weight(
        self, *shape: int, by: bool = False, scale: float | None = None, dtype: Any = np.float32
    ) -> str:
        """A random weight, one of `wrt` if `by`."""
        fan_in = int(np.prod(shape[1:])) or 1
        array = self.rng.normal(size=shape) * (fan_in**-0.5 if scale is None else scale)
        return self.const(array.astype(dtype), by)

    def positive(self, *shape: int, by: bool = False) -> str:
        """A weight between 0.5 and 1.5."""
        return self.const(self.rng.uniform(0.5, 1.5, shape).astype(np.float32), by)

    def const(self, value: Any, by: bool = False) -> str:
        """A constant; floats become float32, integers int64."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        if by:
            self.wrt.append(name)
        return name

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """A node of one result, which has the name of the node."""
        return self.several(kind, *inputs, count=1, name=name, **attributes)[0]

    def several(
        self, kind: str, *inputs: str, count: int, name: str | None = None, **attributes: Any
    ) -> list[str]:
        node = name or f"{kind.lower()}{len(self.nodes)}"
        results = [node, *(f"{node}_{i}" for i in range(1, count))]
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=node, **attributes))
        return results

    def conv(self, x: str, channels: tuple[int, int], kernel: int = 3, by: bool = False, **more: Any) -> str:
        """A convolution of (in, out) channels that keeps the size."""
        groups = more.get("group", 1)
        weight = self.weight(channels[1], channels[0] // groups, kernel, kernel, by=by)
        more.setdefault("pads", [kernel // 2] * 4)
        return self.op("Conv", x, weight, **more)

    def batch_norm(self, x: str, channels: int, by: bool = False) -> str:
        scale, shift = self.positive(channels, by=by), self.weight(channels, scale=0.3)
        mean, variance = self.weight(channels, scale=0.1), self.positive(channels)
        return self.op("BatchNormalization", x, scale, shift, mean, variance)

    def dense(self, x: str, sizes: tuple[int, int], by: bool = False) -> str:
        """A product with a weight of (in, out) and a shift."""
        weight = self.const(self.rng.normal(size=sizes) * sizes[0] ** -0.5, by)
        return self.op("Add", self.op("MatMul", x, weight), self.weight(sizes[1], by=by))

    def ints(self, *values: int) -> str:
        return self.const(np.array(values, np.int64))

    def layer_norm(self, x: str, size: int, by: bool = False) -> str:
        scale, shift = self.positive(size, by=by), self.weight(size, by=by)
        return self.op("LayerNormalization", x, scale, shift, axis=-1)

    def graph(self, outputs: Sequence[str], element: int = TensorProto.FLOAT) -> onnx.GraphProto:
        named = [helper.make_tensor_value_info(name, element, None) for name in outputs]
        return helper.make_graph(self.nodes, "g", self.inputs, named, self.weights)

    def done(self, *outputs: str, element: int = TensorProto.FLOAT, **options: Any) -> ProofModel:
        """The model with these results, which shape inference gives their shapes."""
        opsets = [helper.make_opsetid("", self.opset)]
        made = helper.make_model(self.graph(outputs, element), opset_imports=opsets, ir_version=8)
        made = onnx.shape_inference.infer_shapes(made, strict_mode=False)
        return ProofModel(made, outputs, tuple(self.wrt), self.feeds, options)
