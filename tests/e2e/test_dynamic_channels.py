"""Gradients of convolutions of which only run time knows how many channels the weights have, or how large
the kernel is."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 18]>
agraph (float[{data}] x, float[{weights}] w, float[{bias}] b) => (float[N,M,P,Q] y) {{
    y = {op} <{attributes}> (x, w, b)
}}"""

CASES = [
    ("Conv", "", (2, 4, 6, 7), (5, 4, 3, 2)),
    ("Conv", "strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]", (2, 4, 9, 8), (5, 4, 3, 2)),
    ("Conv", "strides = [2, 2], group = 2", (3, 4, 8, 8), (6, 2, 3, 3)),
    ("Conv", 'group = 4, auto_pad = "SAME_UPPER", strides = [2, 1]', (2, 4, 7, 5), (4, 1, 3, 2)),
    ("Conv", "strides = [2, 2]", (0, 4, 6, 6), (5, 4, 3, 3)),
    ("ConvTranspose", "strides = [2, 1], pads = [1, 0, 0, 1]", (2, 4, 5, 4), (4, 3, 3, 2)),
    ("ConvTranspose", "strides = [3, 2], group = 2, output_padding = [2, 1]", (2, 4, 4, 3), (4, 3, 3, 2)),
]

OLDER = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32)
"""onnxruntime 1.31 does not write a product over nothing, as gradients of weights by no item are."""

KERNELS = [
    *CASES,
    ("Conv", 'auto_pad = "SAME_LOWER", strides = [3, 2]', (2, 4, 7, 8), (5, 4, 2, 3)),
    ("Conv", 'auto_pad = "VALID", strides = [3, 1]', (1, 2, 9, 5), (3, 2, 2, 5)),
    ("ConvTranspose", 'auto_pad = "SAME_UPPER", strides = [2, 1]', (2, 4, 5, 4), (4, 3, 3, 4)),
    ("ConvTranspose", 'auto_pad = "SAME_LOWER", strides = [1, 3]', (2, 4, 5, 4), (4, 3, 4, 2)),
    ("ConvTranspose", "strides = [2, 3], output_shape = [8, 11]", (2, 4, 5, 4), (4, 3, 3, 2)),
    (
        "ConvTranspose",
        "strides = [2, 2], dilations = [2, 1], output_shape = [14, 8]",
        (2, 4, 5, 4),
        (4, 3, 3, 2),
    ),
    (
        "ConvTranspose",
        'strides = [2, 3], output_shape = [8, 9], auto_pad = "SAME_UPPER"',
        (2, 4, 5, 4),
        (4, 3, 3, 2),
    ),
    ("ConvTranspose", "strides = [2, 2], group = 4", (0, 4, 5, 4), (4, 3, 3, 2)),
]

OPEN = ["O,{1},{2},{3}", "{0},I,{2},{3}", "O,I,{2},{3}", "O,I,h,w"]
"""Weights of which some sizes are names; of the last the attribute tells the kernel."""


def _model(op: str, attributes: str, data: str, weights: str, kernel: tuple[int, ...] = ()) -> ModelProto:
    reported = f"kernel_shape = {list(kernel)}" if kernel else ""
    text = ", ".join(filter(None, (attributes, reported))) or "group = 1"
    return onnx.parser.parse_model(MODEL.format(op=op, attributes=text, data=data, weights=weights, bias="B"))


def _vjp(model: ModelProto) -> gradc.Compiled:
    return gradc.vjp(model, check=False)


def _hvp(model: ModelProto) -> gradc.Compiled:
    return gradc.hvp(model, reduce="sum", check=False)


@pytest.mark.sweep(parts=28)
@pytest.mark.parametrize("names", OPEN)
@pytest.mark.parametrize("data", ["{0},{1},{2},{3}", "N,C,H,W"])
@pytest.mark.parametrize(("op", "attributes", "x_shape", "w_shape"), CASES, ids=str)
def test_as_with_weights_of_known_sizes(
    op: str,
    attributes: str,
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    data: str,
    names: str,
):
    opened = _model(op, attributes, data.format(*x_shape), names.format(*w_shape), w_shape[2:])
    _check(opened, op, attributes, x_shape, w_shape)


@pytest.mark.sweep(parts=28)
@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("N,C,H,W", "O,I,h,w"),
        ("{0},{1},{2},{3}", "{0},{1},h,w"),
        ("N,{1},H,{3}", "O,I,{2},w"),
        ("N,C,H,W", "{0},{1},{2},{3}"),
    ],
)
@pytest.mark.parametrize(("op", "attributes", "x_shape", "w_shape"), KERNELS, ids=str)
def test_as_with_a_kernel_of_known_sizes(
    op: str,
    attributes: str,
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    data: str,
    names: str,
):
    opened = _model(op, attributes, data.format(*x_shape), names.format(*w_shape))
    _check(opened, op, attributes, x_shape, w_shape)


def _check(
    opened: ModelProto, op: str, attributes: str, x_shape: tuple[int, ...], w_shape: tuple[int, ...]
) -> None:
    known, sizes = (",".join(map(str, shape)) for shape in (w_shape, x_shape))
    closed = _model(op, attributes, sizes, known, w_shape[2:])
    rng = np.random.default_rng(0)
    group = next((count for count in (2, 4) if f"group = {count}" in attributes), 1)
    channels = w_shape[0] if op == "Conv" else w_shape[1] * group
    shapes = {"x": x_shape, "w": w_shape, "b": (channels,)}
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    ways = {f"tangent_{name}": rng.standard_normal(shape) for name, shape in shapes.items()}
    feeds |= {name: way.astype(np.float32) for name, way in ways.items()}
    inputs = [name for name in feeds if not name.startswith("tangent_")]
    y = gradc.compile(closed).run({name: feeds[name] for name in inputs})["y"]
    feeds["cotangent_y"] = rng.standard_normal(y.shape).astype(np.float32)
    is_unwritten = 0 in x_shape and OLDER
    for made in (_vjp,) if is_unwritten else (_vjp, _hvp):
        want, found = made(closed), made(opened)
        fed = {info.name: feeds[info.name] for info in found.inputs}
        reported = want.run({info.name: feeds[info.name] for info in want.inputs})
        for name, value in found.run(fed).items():
            np.testing.assert_allclose(value, reported[name], rtol=1e-4, atol=1e-4, err_msg=name)
