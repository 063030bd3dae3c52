"""Small models of forms of ops that a runtime computes otherwise than ONNX says; `portable` avoids them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class OpForm:
    """`feeds` are the inputs of a model of one op, `constants` its initializers."""

    name: str
    node: onnx.NodeProto
    feeds: Arrays
    constants: Arrays
    opset: int = 18

    @property
    def model(self) -> ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in self.feeds.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.node.output if name]
        weights = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph([self.node], "g", inputs, outputs, weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def _drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape).astype(np.float32)


def _form(
    name: str, op: str, feeds: Arrays, constants: Arrays, outputs: Sequence[str] = ("y",), **attributes: Any
) -> OpForm:
    opset = attributes.pop("opset", 18)
    inputs = attributes.pop("inputs", [*feeds, *constants])
    return OpForm(name, helper.make_node(op, inputs, outputs, **attributes), feeds, constants, opset)


def _windows() -> Iterator[OpForm]:
    weights = {"w": _drawn(2, 3, 3, 2), "b": _drawn(3)}
    for word in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        given: dict[str, Any] = {"strides": [2, 3], "auto_pad": word}
        yield _form(f"conv-transpose-{word}", "ConvTranspose", {"x": _drawn(1, 2, 4, 5)}, weights, **given)
        conv = {"w": _drawn(2, 2, 3, 4)}
        yield _form(f"conv-{word}", "Conv", {"x": _drawn(1, 2, 7, 6)}, conv, **given)
        for pool in ("AveragePool", "LpPool", "MaxPool"):
            data = {"x": _drawn(1, 2, 7, 6)}
            yield _form(f"{pool}-{word}", pool, data, {}, kernel_shape=[3, 4], **given)
    for size in ([8, 15], [9, 14], [7, 13]):
        given = {"strides": [2, 3], "output_shape": size}
        name = f"conv-transpose-to-{size[0]}"
        yield _form(name, "ConvTranspose", {"x": _drawn(1, 2, 4, 5)}, weights, **given)
    counted: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    counted |= {"ceil_mode": 1, "count_include_pad": 1}
    yield _form("average-pool-ceil", "AveragePool", {"x": _drawn(1, 1, 6, 6)}, {}, **counted)
    for kernel, pads in ((3, [0, 0, 0, 0]), (2, [0, 1, 1, 0]), (2, [1, 1, 1, 1])):
        given = {"kernel_shape": [kernel, kernel], "strides": [2, 3], "pads": pads, "ceil_mode": 1}
        yield _form(f"LpPool-ceil-{kernel}-{sum(pads)}", "LpPool", {"x": _drawn(1, 2, 8, 9)}, {}, **given)
    indexed: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2], "storage_order": 1}
    yield _form("max-pool-columns", "MaxPool", {"x": _drawn(2, 2, 6, 5)}, {}, ("y", "i"), **indexed)


def _recurrent() -> Iterator[OpForm]:
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        functions = {"RNN": ["Relu"], "GRU": ["Sigmoid", "Relu"], "LSTM": ["Sigmoid", "Softsign", "Tanh"]}[op]
        weights = {"w": _drawn(1, gates * 2, 3), "r": _drawn(1, gates * 2, 2), "b": _drawn(1, gates * 4)}
        rare: list[dict[str, Any]] = [{"clip": 0.5}, {"activations": functions}, {"direction": "reverse"}]
        rare += [{"input_forget": 1}] if op == "LSTM" else []
        for given in rare:
            (name,) = given
            yield _form(f"{op}-{name}", op, {"x": _drawn(4, 2, 3)}, weights, hidden_size=2, **given)


def _resizes() -> Iterator[OpForm]:
    data, spread = {"x": _drawn(1, 2, 6, 5)}, {"s": np.array([1, 2, 3, 7])}
    rare: list[tuple[str, dict[str, Any]]] = [
        *((mode, {"antialias": 1}) for mode in ("linear", "cubic")),
        *(
            (mode, {"coordinate_transformation_mode": "half_pixel_symmetric"})
            for mode in ("nearest", "linear")
        ),
        ("cubic", {"exclude_outside": 1}),
    ]
    inputs = ["x", "", "", "s"]
    for mode, given in rare:
        name = f"resize-{mode}-{next(iter(given))}"
        yield _form(name, "Resize", data, spread, inputs=inputs, mode=mode, opset=19, **given)
    sizes = {"s": np.array([3, 7])}
    for mode in ("nearest", "linear", "cubic"):
        for word in ("not_larger", "not_smaller"):
            given = {"keep_aspect_ratio_policy": word, "axes": [2, 3]}
            name = f"resize-{mode}-{word}"
            yield _form(name, "Resize", data, sizes, inputs=inputs, mode=mode, opset=18, **given)


def _spectra() -> Iterator[OpForm]:
    for onesided, inverse, axis, parts in (
        (0, 0, 2, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
        (1, 0, 1, 1),
        (0, 0, 0, 1),
    ):
        given: dict[str, Any] = {"onesided": onesided, "inverse": inverse}
        name = f"dft-{onesided}{inverse}{axis}{parts}"
        place = {"a": np.array(axis)}
        data = {"x": _drawn(3, 5, 6, parts)}
        yield _form(name, "DFT", data, place, inputs=["x", "", "a"], opset=20, **given)
    half = {"l": np.array(7), "a": np.array(2)}
    both: dict[str, Any] = {"onesided": 1, "inverse": 1}
    yield _form("dft-half-spectrum", "DFT", {"x": _drawn(3, 5, 6, 2)}, half, opset=20, **both)


def _others() -> Iterator[OpForm]:
    for op in ("Add", "Mul", "Sub"):
        for dtype in (np.uint8, np.int8):
            sides = {"a": np.array([3, 100, 127], dtype), "b": np.array([100, 101, 5], dtype)}
            yield _form(f"{op}-{np.dtype(dtype).name}", op, sides, {})
    for op in ("ReduceMax", "ReduceMin"):
        for keepdims in (0, 1):
            nothing, axes = {"x": np.zeros((0, 3), np.float32)}, {"a": np.array([0])}
            yield _form(f"{op}-nothing-{keepdims}", op, nothing, axes, keepdims=keepdims)
    yield _form("dropout-mask", "Dropout", {"x": _drawn(3, 4)}, {}, ("y", "m"))
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 0.5, 1, 1.5], [2, 2, 3, 3]]], np.float32)
    picked = {"x": boxes, "s": np.array([[[0.9, 0.8, 0.7, 0.6]]], np.float32)}
    yield _form("boxes", "NonMaxSuppression", picked, {"m": np.array([3])})
    regions = {"r": np.array([[0.3, 0.2, 3.1, 3.4], [1, 0, 3.5, 2]], np.float32), "b": np.array([0, 0])}
    sizes: dict[str, Any] = {"output_height": 2, "output_width": 3}
    data = {"x": _drawn(1, 2, 5, 6), **regions}
    yield _form("roi-align-max", "RoiAlign", data, {}, mode="max", sampling_ratio=2, **sizes)
    yield _form("celu", "Celu", {"x": _drawn(3, 4)}, {}, alpha=2.0)
    repeated = {"x": _drawn(2, 3, 4, 5), "r": np.array([2, 2, 3, 2])}
    yield _form("tile-repeats", "Tile", repeated, {})
    heads = {name: _drawn(1, 2, 3, 4) + shift for name, shift in (("q", 0), ("k", 1), ("v", 2))}
    hidden = {"m": np.array([[False, True, True], [True, False, True], [True, True, True]])}
    yield _form("attention-no-keys", "Attention", heads, hidden, is_causal=1, left_window_size=1, opset=25)
    pads = {"p": np.array([-1, 2, 0, -2])}
    yield _form("pad-negative", "Pad", {"x": _drawn(4, 5)}, pads)
    yield _form(
        "space-to-depth", "SpaceToDepth", {"x": _drawn(1, 2, 4, 6)}, {}, blocksize=2, mode="CRD", opset=28
    )
    body = helper.make_graph(
        [helper.make_node("Add", ["b", "a"], ["c"]), helper.make_node("Sub", ["b", "c"], ["d"])],
        "step",
        [helper.make_tensor_value_info(name, 1, [2, 4]) for name in "ab"],
        [helper.make_tensor_value_info(name, 1, [2, 4]) for name in "cd"],
    )
    scanned = {"h": _drawn(2, 4), "x": _drawn(3, 2, 4)}
    yield _form("scan", "Scan", scanned, {}, ("l", "y"), body=body, num_scan_inputs=1)


FORMS: tuple[OpForm, ...] = (*_windows(), *_recurrent(), *_resizes(), *_spectra(), *_others())

NOT_RUN: Mapping[str, Mapping[str, str]] = {
    "onnxruntime-web": {"space-to-depth": "IR version"},
    "tract": {"LpPool-*": "LpPool", "tile-repeats": "shape input is variable"},
}
"""Runtime -> glob of forms that it does not run at all -> what it says."""
