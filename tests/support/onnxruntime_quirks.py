"""Small models that show the entries of `passes/onnxruntime/quirks.py`: onnxruntime fails or deviates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

Arrays = Mapping[str, np.ndarray]
F32 = np.float32


@dataclass(frozen=True)
class Reproducer:
    """Nodes with inputs and constants; `want` is the right result of `y`, by ONNX's definition."""

    nodes: list[onnx.NodeProto]
    feeds: Arrays
    want: np.ndarray
    constants: Arrays = field(default_factory=dict)
    opset: int = 18
    dynamic: bool = False

    def _dims(self, name: str, array: np.ndarray) -> list[str | int]:
        return [f"{name}{axis}" if self.dynamic else size for axis, size in enumerate(array.shape)]

    @property
    def model(self) -> ModelProto:
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), self._dims(name, array)
            )
            for name, array in self.feeds.items()
        ]
        weights = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(self.want.dtype), None)
        graph = helper.make_graph(self.nodes, "g", inputs, [output], weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def node(op: str, inputs: str, output: str = "y", **attributes: object) -> onnx.NodeProto:
    """Return a node; `-` among the inputs is one that is left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, names, output.split(), **attributes)


def _ones(*shape: int) -> np.ndarray:
    return np.ones(shape, F32)


_BATCH = np.arange(4, dtype=F32).reshape(4, 1)
_MANY = np.random.default_rng(0).random(2**20).astype(F32)
_SPECTRUM = np.stack([np.arange(1, 4, dtype=np.float64), np.zeros(3)], -1)[None]

REPRODUCERS: Mapping[str, Reproducer] = {
    "affine-grid-of-size-1": Reproducer(
        [node("AffineGrid", "t s", align_corners=1)],
        {"t": np.array([[[1, 0, 0], [0, 1, 0]]], F32)},
        np.array([[[[-1, -1], [1, -1]]]], F32),
        {"s": np.array([1, 1, 1, 2])},
        opset=20,
    ),
    "batch-normalization-in-place": Reproducer(
        [node("BatchNormalization", "x s b m v", "y r q", training_mode=1, epsilon=0.0, momentum=0.0)],
        {"x": _BATCH},
        ((_BATCH - 1.5) / np.sqrt(F32(1.25))).astype(F32),
        {"s": _ones(1), "b": np.zeros(1, F32), "m": np.zeros(1, F32), "v": _ones(1)},
    ),
    "boolean-extreme-of-nothing": Reproducer(
        [node("ReduceMax", "x a", keepdims=0)],
        {"x": np.zeros((0, 2), bool)},
        np.zeros(2, bool),
        {"a": np.array([0])},
        opset=20,
    ),
    "small-sigmoids": Reproducer(
        [node("Sigmoid", "x")], {"x": np.array([-15], F32)}, np.array([1 / (1 + np.exp(15.0))], F32)
    ),
    "inverse-dft-in-f64": Reproducer(
        [node("DFT", "x - a", inverse=1)],
        {"x": _SPECTRUM},
        np.stack([np.fft.ifft([1, 2, 3]).real, np.fft.ifft([1, 2, 3]).imag], -1)[None],
        {"a": np.array(1)},
        opset=20,
    ),
    "no-hidden-size": Reproducer(
        [node("RNN", "x w r")],
        {"x": _ones(1, 1, 1)},
        np.tanh(_ones(1, 1, 1, 1)),
        {"w": _ones(1, 1, 1), "r": _ones(1, 1, 1)},
    ),
    "half-spectrum-of-another-size": Reproducer(
        [node("DFT", "x l a", inverse=1, onesided=1)],
        {"x": np.array([[3, 0], [1, 2], [5, 0]], F32)[None]},
        np.fft.irfft([3, 1 + 2j, 5], 3)[None, :, None].astype(F32),
        {"l": np.array(3), "a": np.array(1)},
        opset=20,
    ),
    "hard-swish-in-f64": Reproducer(
        [node("HardSwish", "x")], {"x": np.array([0.5])}, np.array([0.5 * (0.5 / 6 + 0.5)])
    ),
    "pad-with-axes-behind-a-transpose": Reproducer(
        [
            node("Transpose", "x", "t", perm=[1, 0]),
            node("Pad", "t p - a", "y0"),
            node("Transpose", "y0", perm=[1, 0]),
        ],
        {"x": _ones(2, 3)},
        np.pad(_ones(2, 3), ((0, 0), (1, 2))),
        {"p": np.array([1, 2]), "a": np.array([0])},
    ),
    "softplus-in-f64": Reproducer(
        [node("Softplus", "x")], {"x": np.array([-40.0, 1000.0])}, np.array([np.exp(-40), 1000.0])
    ),
    "grid-sample-of-cubic-volumes": Reproducer(
        [node("GridSample", "x g", mode="cubic", padding_mode="border")],
        {"x": np.arange(8, dtype=F32).reshape(1, 1, 2, 2, 2), "g": np.zeros((1, 1, 1, 1, 3), F32)},
        np.array([3.5], F32).reshape(1, 1, 1, 1, 1),
        opset=20,
    ),
    "lrn-of-even-size": Reproducer(
        [node("LRN", "x", size=2, alpha=1.0, beta=1.0, bias=1.0)],
        {"x": _ones(1, 2, 1, 1)},
        np.array([1 / 2, 1 / 1.5], F32).reshape(1, 2, 1, 1),
    ),
    "transposed-matrix-by-vector": Reproducer(
        [node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "t v")],
        {"x": np.arange(4, dtype=F32).reshape(2, 2), "v": np.array([1, 2], F32)},
        np.array([4, 7], F32),
    ),
    "expand-to-nothing": Reproducer(
        [node("Abs", "x", "a"), node("Expand", "a s", "e"), node("Neg", "e")],
        {"x": _ones(2, 1)},
        _ones(2, 0),
        {"s": np.array([2, 0])},
    ),
    "einsum-of-an-empty-batch": Reproducer(
        [node("Einsum", "a b", equation="bij,bkj->bik")],
        {"a": _ones(0, 2, 3), "b": _ones(0, 2, 3)},
        _ones(0, 2, 2),
    ),
    "recurrent-in-f64": Reproducer(
        [node("GRU", "x w r", hidden_size=1)],
        {"x": np.zeros((1, 1, 1))},
        np.zeros((1, 1, 1, 1)),
        {"w": np.ones((1, 3, 1)), "r": np.ones((1, 3, 1))},
    ),
    "function-body-of-nothing": Reproducer(
        [node("GroupNormalization", "x s b", num_groups=1)],
        {"x": _ones(0, 2, 3)},
        _ones(0, 2, 3),
        {"s": _ones(2), "b": _ones(2)},
        opset=21,
        dynamic=True,
    ),
    "bounds-before-quantization": Reproducer(
        [node("Relu", "x", "r"), node("QuantizeLinear", "r s z", "q"), node("DequantizeLinear", "q s z")],
        {"x": np.array([-5, 5], F32)},
        np.array([0, 5], F32),
        {"s": np.array(1, F32), "z": np.array(0, ml_dtypes.float8_e4m3fn)},
        opset=19,
    ),
    "inf-in-f8-e5m2": Reproducer(
        [node("QuantizeLinear", "x s z", "q", saturate=0), node("Cast", "q", to=onnx.TensorProto.FLOAT)],
        {"x": np.array([61440, np.inf], F32)},
        np.array([np.inf, np.inf], F32),
        {"s": np.array(1, F32), "z": np.array(0, ml_dtypes.float8_e5m2)},
        opset=19,
    ),
    "names-of-the-optimizer": Reproducer(
        [node("MatMul", "x gemm_input_shape", "m"), node("Add", "m b")],
        {"x": _ones(2, 2, 3)},
        4 * _ones(2, 2, 4),
        {"gemm_input_shape": _ones(3, 4), "b": _ones(4)},
    ),
    "pad-before-average-pool": Reproducer(
        [node("Pad", "x p", "q"), node("AveragePool", "q", kernel_shape=[2], count_include_pad=1)],
        {"x": _ones(1, 1, 2)},
        np.array([[[0, 0.5, 1]]], F32),
        {"p": np.array([0, 0, 2, 0, 0, 0])},
    ),
    "pads-as-wide-as-the-kernel": Reproducer(
        [node("AveragePool", "x", kernel_shape=[2], pads=[2, 0], count_include_pad=1)],
        {"x": _ones(1, 1, 2)},
        np.array([[[0, 0.5, 1]]], F32),
    ),
    "product-of-an-empty-batch": Reproducer(
        [node("MatMul", "b x")], {"x": _ones(0, 3, 2)}, _ones(0, 4, 2), {"b": _ones(4, 3)}, dynamic=True
    ),
    "recurrent-of-an-empty-batch": Reproducer(
        [node("GRU", "x w r", hidden_size=1)],
        {"x": _ones(1, 0, 1)},
        _ones(1, 1, 0, 1),
        {"w": _ones(1, 3, 1), "r": _ones(1, 3, 1)},
        dynamic=True,
    ),
    "resize-of-unchanged-sizes": Reproducer(
        [node("Resize", "x - s", coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
        {"x": np.arange(3, dtype=F32)},
        np.array([0, 0, 1], F32),
        {"s": np.array([1.2], F32)},
    ),
    "signs-of-low-halves": Reproducer(
        [node("Max", "a b")],
        {"a": np.full(32, 0x1_8000_0000), "b": np.full(32, 0x1_0000_0001)},
        np.full(32, 0x1_8000_0000),
    ),
    "sum-of-squares-in-one-pass": Reproducer(
        [node("ReduceL2", "x", keepdims=0)], {"x": _MANY}, np.array(np.linalg.norm(_MANY.astype(float)), F32)
    ),
    "sum-over-first-axes": Reproducer(
        [node("ReduceSum", "x a", keepdims=0)],
        {"x": _MANY.reshape(-1, 2)},
        _MANY.reshape(-1, 2).astype(float).sum(0).astype(F32),
        {"a": np.array([0])},
    ),
    "transposed-factor-of-an-empty-batch": Reproducer(
        [node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "t b")],
        {"x": _ones(0, 3, 2)},
        _ones(0, 2, 4),
        {"b": _ones(3, 4)},
        dynamic=True,
    ),
}
"""Name of a quirk -> a model that shows it."""
