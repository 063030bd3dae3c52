"""Random models of matrix products, convolutions and pooling."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from tools.calibration.drawing import (
    MOST_ELEMENTS,
    MOST_PRODUCTS,
    draw_channels,
    draw_size,
    floats,
    format_parts,
    node_model,
)
from tools.calibration.model import NodeModel


def matmul(rng: np.random.Generator) -> NodeModel | None:
    batch, m, k, n = (
        draw_size(rng, 1, 300),
        draw_size(rng, 1, 2000),
        draw_size(rng, 2, 1200),
        draw_size(rng, 1, 5000),
    )
    if rng.random() < 0.4:
        batch = 1
    if not 1e4 < batch * m * k * n < MOST_PRODUCTS or batch * m * n > MOST_ELEMENTS:
        return None
    match rng.integers(3):
        case 0:
            matrix = floats(m, k)
            return NodeModel(
                "MatMul",
                format_parts("left", [batch, m, k, n]),
                ((batch, k, n),),
                lambda emit, args: emit(onnx.MatMulOp(emit.constant(matrix), args[0])),
            )
        case 1:
            matrix = floats(k, n)
            return NodeModel(
                "MatMul",
                format_parts("right", [batch, m, k, n]),
                ((batch, m, k),),
                lambda emit, args: emit(onnx.MatMulOp(args[0], emit.constant(matrix))),
            )
        case _:
            return NodeModel(
                "MatMul",
                format_parts("both", [batch, m, k, n]),
                ((batch, m, k), (batch, k, n)),
                lambda emit, args: emit(onnx.MatMulOp(*args)),
            )


def conv(rng: np.random.Generator, grouped: bool = False, transposed: bool = False) -> NodeModel | None:
    rank = int(rng.choice([2, 2, 2, 2, 1, 3]))
    batch = int(rng.choice([1, 1, 1, 4]))
    x = [draw_size(rng, 3, {1: 4000, 2: 224, 3: 40}[rank]) for _ in range(rank)]
    if rank == 2 and rng.random() < 0.6:
        x[1] = x[0]
    groups, inner, outer = 1, draw_channels(rng), draw_channels(rng)
    if grouped and rng.random() < 0.6:
        groups = inner = outer = draw_channels(rng)
    elif grouped:
        groups = int(rng.choice([2, 4, 8, 32]))
        inner, outer = (groups * draw_size(rng, 1, 48) for _ in range(2))
    k = [int(rng.choice([1, 2, 3, 3, 3, 4, 5, 7]))] * rank
    stride = [int(rng.choice([1, 1, 2])) if not transposed else int(rng.choice([1, 2, 2, 3]))] * rank
    pad = k[0] // 2 if rng.random() < 0.8 else 0
    run_time = rng.random() < 0.25
    if transposed:
        weights = (inner, outer // groups, *k)
        y = [(a - 1) * s - 2 * pad + k[0] for a, s in zip(x, stride, strict=True)]
        products = batch * math.prod(x) * math.prod(weights)
    else:
        weights = (outer, inner // groups, *k)
        y = [(a + 2 * pad - k[0]) // s + 1 for a, s in zip(x, stride, strict=True)]
        products = batch * math.prod(y) * math.prod(weights)
    if min(y) < 1 or max(x) + pad < k[0] or not 1e5 < products < MOST_PRODUCTS:
        return None
    if batch * outer * math.prod(y) > MOST_ELEMENTS or math.prod(weights) > MOST_ELEMENTS:
        return None
    op = onnx.ConvTransposeOp if transposed else onnx.ConvOp
    attributes = {"group": groups, "strides": stride, "pads": [pad] * (2 * rank)}
    return _with_weights(
        "ConvTranspose" if transposed else "Conv", op, (batch, inner, *x), weights, attributes, run_time
    )


def _with_weights(kind: str, op, data: tuple[int, ...], weights: tuple[int, ...], attributes, run_time: bool):
    name = format_parts(
        data, weights, *(f"{k}={format_parts(v)}" for k, v in attributes.items()), "input" * run_time
    )
    if run_time:
        return NodeModel(kind, name, (data, weights), lambda emit, args: emit(op(*args, **attributes)))
    array = floats(*weights)
    return NodeModel(
        kind, name, (data,), lambda emit, args: emit(op(args[0], emit.constant(array), **attributes))
    )


def channels_last(rng: np.random.Generator) -> NodeModel | None:
    inner, outer, size = 16 * draw_size(rng, 1, 16), 16 * draw_size(rng, 1, 16), draw_size(rng, 5, 120)
    k = int(rng.choice([1, 3]))
    if inner * outer * size**2 * k * k > MOST_PRODUCTS:
        return None
    return _between_transposes([inner, outer, size, k], (outer, inner, k, k))


def depthwise_last(rng: np.random.Generator) -> NodeModel | None:
    """Draw a depthwise convolution with 4 n channels, which need not fill blocks of 16."""
    channels, size, k = 4 * draw_size(rng, 1, 48), draw_size(rng, 5, 120), int(rng.choice([2, 3, 5]))
    return _between_transposes([channels, size, k], (channels, 1, k, k), channels)


def _between_transposes(name: list[int], shape: tuple[int, ...], group: int | None = None) -> NodeModel:
    """Return a convolution between two Transposes, which the runtime merges into its reordering."""
    *_, size, k = name
    channels = shape[1] * (group or 1)
    weights = floats(*shape)

    def build(emit, args):
        first = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
        value = emit(onnx.ConvOp(first, emit.constant(weights), pads=[k // 2] * 4, group=group))
        return emit(onnx.TransposeOp(value, perm=[0, 2, 3, 1]))

    return NodeModel("Conv", format_parts("NXC", name), ((1, size, size, channels),), build)


def col2im(rng: np.random.Generator) -> NodeModel | None:
    k, s, c = int(rng.choice([2, 3, 4, 5, 7])), int(rng.choice([1, 2, 2, 3])), draw_size(rng, 1, 256)
    rank = int(rng.choice([1, 2, 2, 2]))
    y = draw_size(rng, 4, 100 if rank == 2 else 3000)
    pad = int(rng.choice([0, k // 2]))
    x = (y - 1) * s + k - 2 * pad
    columns = (1, c * k**rank, y**rank)
    if math.prod(columns) > MOST_ELEMENTS or x < 1:
        return None

    def build(emit, args):
        sizes = emit.ints([x] * rank), emit.ints([k] * rank)
        return emit(onnx.Col2ImOp(args[0], *sizes, strides=[s] * rank, pads=[pad] * (2 * rank)))

    return NodeModel(
        "Col2Im", format_parts(columns, f"k={k}", f"s={s}", f"p={pad}", f"r={rank}"), (columns,), build
    )


def pool(rng: np.random.Generator) -> NodeModel | None:
    k, c, y = int(rng.choice([2, 2, 3, 4])), draw_channels(rng), draw_size(rng, 4, 200)
    x = (1, c, y * k, y * k)
    if math.prod(x) > MOST_ELEMENTS:
        return None
    return NodeModel(
        "AveragePool",
        format_parts(x, f"k={k}"),
        (x,),
        lambda emit, args: emit(onnx.AveragePoolOp(args[0], kernel_shape=[k, k], strides=[k, k])),
    )


def pool_volume(rng: np.random.Generator) -> NodeModel | None:
    """Draw volumes, or images with trailing channels, which are not pooled."""
    k, y = int(rng.choice([2, 2, 3, 4])), draw_size(rng, 4, 150)
    last = [1, draw_channels(rng)] if rng.random() < 0.7 else [k, draw_size(rng, 4, 60)]
    window = [k, k, last[0]]
    x = (1, draw_size(rng, 1, 16), y * k, y * k, last[0] * last[1])
    if math.prod(x) > MOST_ELEMENTS:
        return None
    return NodeModel(
        "AveragePool volume",
        format_parts(x, f"k={k}", f"{k}x{last[0]}"),
        (x,),
        lambda emit, args: emit(onnx.AveragePoolOp(args[0], kernel_shape=window, strides=window)),
    )


def wide_matmul(rng: np.random.Generator) -> NodeModel | None:
    m, k, n = draw_size(rng, 1, 500), draw_size(rng, 2, 500), draw_size(rng, 1, 2000)
    if not 1e4 < m * k * n < MOST_PRODUCTS / 2:
        return None
    array = floats(k, n) if rng.random() < 0.5 else None

    def build(emit, args):
        wide = emit(onnx.CastOp(args[0], to=f64))
        other = (
            emit.constant(array.astype(np.float64))
            if array is not None
            else emit(onnx.CastOp(args[1], to=f64))
        )
        return emit(onnx.MatMulOp(wide, other))

    more = () if array is not None else ((k, n),)
    return node_model("MatMul f64", format_parts([m, k, n], "const" * (not more)), (m, k), build, *more)
