"""Random models of data movement, elementwise ops and reductions."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import f32, f64

from dialects.onnx import ops as onnx
from tools.calibration.drawing import MOST_ELEMENTS, draw_shape, draw_size, floats, format_parts, node_model
from tools.calibration.model import NodeModel


def transpose(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng)
    perm = rng.permutation(len(shape)).tolist()
    if rng.random() < 0.4:  # between channels first and last, with spatial axes
        shape = [1, *draw_shape(rng, 3)]
        perm = [0, 2, 3, 1] if rng.random() < 0.5 else [0, 3, 1, 2]
    if perm == sorted(perm):
        return None
    return node_model(
        "Transpose", format_parts(shape, perm), shape, lambda e, a: e(onnx.TransposeOp(a[0], perm=perm))
    )


def slice_of(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng)
    axis = int(rng.integers(len(shape)))
    size = shape[axis]
    if size < 3:
        return None
    step = 2 if rng.random() < 0.2 else 1
    begin, end = size // 4, size - int(rng.integers(0, size // 2))

    def build(emit, args):
        bounds = (emit.ints([value]) for value in (begin, end, axis, step))
        return emit(onnx.SliceOp(args[0], *bounds))

    return node_model("Slice", format_parts(shape, axis, begin, end, step), shape, build)


def concat(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, most=MOST_ELEMENTS / 3)
    axis, count = int(rng.integers(len(shape))), int(rng.choice([2, 2, 3, 4, 9]))
    if rng.random() < 0.25:  # interleaves
        shape, axis = [*shape, 1], len(shape)
    if count * math.prod(shape) > MOST_ELEMENTS:
        return None
    return node_model(
        "Concat",
        format_parts(shape, axis, count),
        shape,
        lambda e, a: e(onnx.ConcatOp(list(a), axis=axis)),
        *[shape] * (count - 1),
    )


def split(rng: np.random.Generator) -> NodeModel | None:
    """Draw a Split whose parts are concatenated in another order, as a model has one result."""
    shape, count = draw_shape(rng), int(rng.choice([2, 3]))
    axis = int(rng.integers(len(shape)))
    shape[axis] = -(-shape[axis] // count) * count

    def build(emit, args):
        split = onnx.SplitOp(args[0], axis=axis, num_outputs=count, results=count)
        emit.ops.append(split)
        return emit(onnx.ConcatOp(list(split.results)[::-1], axis=axis))

    return node_model("Split", format_parts(shape, axis, count), shape, build)


def pad(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng)
    pads = [0] * (2 * len(shape))
    for axis in rng.choice(len(shape), size=int(rng.integers(1, 3)), replace=False):
        pads[axis], pads[axis + len(shape)] = (int(v) for v in rng.integers(0, 3, 2))
    if not any(pads):
        return None
    return node_model("Pad", format_parts(shape, pads), shape, lambda e, a: e(onnx.PadOp(a[0], e.ints(pads))))


def gather(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng)
    axis = int(rng.integers(len(shape)))
    indices = rng.integers(0, shape[axis], max(1, round(shape[axis] * rng.uniform(0.3, 2)))).astype(np.int64)
    if math.prod(shape) * len(indices) / shape[axis] > MOST_ELEMENTS:
        return None
    return node_model(
        "Gather",
        format_parts(shape, axis, len(indices)),
        shape,
        lambda e, a: e(onnx.GatherOp(a[0], e.constant(indices), axis=axis)),
    )


def elementwise(rng: np.random.Generator, op) -> NodeModel | None:
    shape = draw_shape(rng)
    if rng.random() < 0.4:
        return node_model(op.onnx_name(), format_parts(shape), shape, lambda e, a: e(op(*a)), shape)
    cut = int(rng.integers(1, len(shape) + 1))
    other = [1 if (rng.random() < 0.3) else size for size in shape[-cut:]]
    array = floats(*other)
    return node_model(
        op.onnx_name(),
        format_parts(shape, "const", other),
        shape,
        lambda e, a: e(op(a[0], e.constant(array))),
    )


def reduce(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, int(rng.integers(2, 6)))
    if rng.random() < 0.6:  # phases: short axes are summed
        shape = [
            draw_size(rng, 1, 64),
            draw_size(rng, 2, 300),
            int(rng.choice([2, 3, 4])),
            draw_size(rng, 1, 300),
        ]
    axes = [a for a in range(len(shape)) if rng.random() < 0.4] if rng.random() < 0.5 else [len(shape) - 2]
    if not axes or math.prod(shape) > MOST_ELEMENTS:
        return None
    return node_model(
        "ReduceSum",
        format_parts(shape, axes),
        shape,
        lambda e, a: e(onnx.ReduceSumOp(a[0], e.ints(axes), keepdims=0)),
    )


def resize(rng: np.random.Generator) -> NodeModel | None:
    rank = int(rng.choice([1, 2, 2, 2, 3]))
    scale = int(rng.choice([2, 2, 3, 4]))
    shape = [1, *draw_shape(rng, rank + 1, MOST_ELEMENTS / scale**rank)]
    scales = np.array([1, 1, *[scale] * rank], np.float32)

    def build(emit, args):
        return emit(
            onnx.ResizeOp(
                args[0],
                None,
                emit.constant(scales),
                mode="nearest",
                nearest_mode="floor",
                coordinate_transformation_mode="asymmetric",
            )
        )

    return node_model("Resize", format_parts(shape, scale), shape, build)


def depth_to_space(rng: np.random.Generator) -> NodeModel | None:
    b, c, h = int(rng.choice([2, 2, 3, 4])), draw_size(rng, 1, 128), draw_size(rng, 4, 128)
    shape = (1, c * b * b, h, h)
    if math.prod(shape) > MOST_ELEMENTS:
        return None
    return node_model(
        "DepthToSpace", format_parts(shape, b), shape, lambda e, a: e(onnx.DepthToSpaceOp(a[0], blocksize=b))
    )


def expand(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, most=MOST_ELEMENTS / 4)
    axis = int(rng.integers(len(shape)))
    given = [1 if a == axis else size for a, size in enumerate(shape)]
    return node_model(
        "Expand", format_parts(given, shape), given, lambda e, a: e(onnx.ExpandOp(a[0], e.ints(shape)))
    )


def copy(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, 3)
    return node_model("Copy", format_parts(shape), shape, lambda e, a: e(onnx.ReshapeOp(a[0], e.ints([-1]))))


def cast(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, 2)
    return node_model(
        "Cast", format_parts(shape), shape, lambda e, a: e(onnx.CastOp(e(onnx.CastOp(a[0], to=f64)), to=f32))
    )


def unary(rng: np.random.Generator) -> NodeModel | None:
    shape = draw_shape(rng, 3)
    return node_model("Elementwise", format_parts(shape), shape, lambda e, a: e(onnx.SubOp(*a)), shape)
