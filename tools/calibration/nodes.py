"""Random small models of single ops, and of pairs that the runtime fuses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dialects.onnx import ops as onnx
from tools.calibration import moves, products
from tools.calibration.drawing import MOST_ELEMENTS, Draw
from tools.calibration.model import NodeModel


def nodes(seed: int, scale: float = 1.0) -> Iterator[NodeModel]:
    """Yield `scale` times the usual number of models of each kind."""
    for kind, (count, draw) in KINDS.items():
        rng = np.random.default_rng([seed, *kind.encode()])
        yield from _some(draw, rng, math.ceil(count * scale))


def _some(draw: Draw, rng: np.random.Generator, count: int) -> Iterator[NodeModel]:
    found: set[str] = set()
    while len(found) < count:
        model = draw(rng)
        if model is None or max(math.prod(shape) for shape in model.shapes) > MOST_ELEMENTS:
            continue
        if model.name not in found:
            found.add(model.name)
            yield model


KINDS: dict[str, tuple[int, Draw]] = {
    "MatMul": (140, products.matmul),
    "Conv": (160, products.conv),
    "Conv grouped": (90, partial(products.conv, grouped=True)),
    "Conv NXC": (30, products.channels_last),
    "Conv NXC depthwise": (30, products.depthwise_last),
    "ConvTranspose": (70, partial(products.conv, transposed=True)),
    "ConvTranspose grouped": (40, partial(products.conv, grouped=True, transposed=True)),
    "Col2Im": (50, products.col2im),
    "AveragePool": (40, products.pool),
    "AveragePool volume": (40, products.pool_volume),
    "Transpose": (80, moves.transpose),
    "Slice": (60, moves.slice_of),
    "Concat": (70, moves.concat),
    "Split": (30, moves.split),
    "Pad": (40, moves.pad),
    "Gather": (50, moves.gather),
    "Add": (30, partial(moves.elementwise, op=onnx.AddOp)),
    "Mul": (40, partial(moves.elementwise, op=onnx.MulOp)),
    "ReduceSum": (60, moves.reduce),
    "Resize": (40, moves.resize),
    "DepthToSpace": (15, moves.depth_to_space),
    "Expand": (20, moves.expand),
    "Copy": (15, moves.copy),
    "Cast": (15, moves.cast),
    "Elementwise": (12, moves.unary),
    "MatMul f64": (25, products.wide_matmul),
}
"""Kind -> number of models, and the function that draws one."""
