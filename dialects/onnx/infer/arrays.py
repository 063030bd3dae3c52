"""Shape rules of elementwise ops, of data movement, and of ops that create arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dialects.onnx.call import Call, Tensor, axes_of, axis_of
from dialects.onnx.dims import (
    MOST_AXES,
    TO_THE_END,
    add,
    broadcast,
    ceildiv,
    ints,
    largest,
    multiply,
    slice_bounds,
    slice_length,
    subtract,
    vector,
)
from dialects.onnx.infer.reshapes import reshape, squeeze, unsqueeze
from dialects.onnx.infer.spatial import (
    average_pool,
    col2im,
    conv,
    conv_transpose,
    depth_to_space,
    resize,
)
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, merge_dim, same_dim, show

Rule = Callable[[Call], Sequence[Shape | None]]


# Elementwise


def same_as_first(call: Call) -> list[Shape]:
    return [call.operand(0).shape]


def elementwise(call: Call) -> list[Shape]:
    return [broadcast([operand.shape for operand in call.operands if operand is not None])]


def clip(call: Call) -> list[Shape]:
    for bound in (call.optional(1), call.optional(2)):
        if bound is not None and bound.rank != 0:
            raise violation("bound of Clip", given=show(bound.shape), expected="a scalar")
    return same_as_first(call)


# Contents


def constant(call: Call) -> list[Shape]:
    value = call.attribute("value")
    assert isinstance(value, np.ndarray)
    return [value.shape]


def constant_of_shape(call: Call) -> list[Shape]:
    sizes, what = call.operand(0), "the input of ConstantOfShape"
    known = vector(sizes, what)
    return [call.unknown(what, sizes) if known is None else _sizes(known, "ConstantOfShape")]


def _sizes(dims: Sequence[Dim], what: str) -> Shape:
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise violation(f"sizes of {what}", given=show(dims), expected="no negative size")
    return tuple(dims)


def range_(call: Call) -> list[Shape]:
    bounds = [call.operand(i) for i in range(3)]
    if any(b.shape not in ((), (1,), (None,)) for b in bounds):  # ONNX's own AffineGrid has vectors of one
        raise violation("inputs of Range", expected="scalars")
    start, limit, delta = map(_number, bounds)
    if delta == 0:
        raise violation("delta of Range", given=0, expected="not 0")
    known = [bound for bound in (start, limit, delta) if isinstance(bound, int | float)]
    if not all(map(math.isfinite, known)):
        raise violation("inputs of Range", given=known, expected="finite numbers")
    if all(isinstance(bound, int | float) for bound in (start, limit, delta)):
        return [(max(math.ceil((limit - start) / delta), 0),)]
    if any(isinstance(bound, float) for bound in (start, limit)) or not isinstance(delta, int):
        return [(None,)]
    way = subtract(limit, start) if delta > 0 else subtract(start, limit)
    return [(largest(0, ceildiv(way, abs(delta))),)]


def _number(scalar: Tensor) -> Any:
    """Return a scalar as far as it is known: a number, a size, or None."""
    if scalar.value is not None:
        return scalar.value.item()
    return None if scalar.dims is None else scalar.dims[0]


def shape(call: Call) -> list[Shape]:
    start, end = shape_bounds(call)
    return [(end - start,)]


def shape_bounds(call: Call) -> tuple[int, int]:
    """Return the range [start, end) of axes whose sizes a Shape op returns."""
    rank = call.operand(0).rank
    start, end = call.attribute("start", 0), call.attribute("end", rank)
    start, end, _ = slice(start, end).indices(rank)
    return start, max(start, end)


# Structure


def concat(call: Call) -> list[Shape]:
    shapes = [operand.shape for operand in call.operands if operand is not None]
    rank = len(shapes[0])
    axis = axis_of(call.attribute("axis"), rank)
    result = list(shapes[0])
    for other in shapes[1:]:
        if len(other) != rank:
            raise violation("ranks of Concat", given=f"{show(shapes[0])} and {show(other)}")
        for i in range(rank):
            result[i] = add(result[i], other[i]) if i == axis else _agree(result[i], other[i])
    return [tuple(result)]


def _agree(a: Dim, b: Dim) -> Dim:
    if not same_dim(a, b):
        raise violation("dims of Concat", given=f"{a} and {b}", expected="equal dims off the axis")
    return merge_dim(a, b)


def expand(call: Call) -> list[Shape]:
    what = "the shape of Expand"
    sizes = vector(call.operand(1), what)
    target = call.unknown(what, call.operand(1)) if sizes is None else _sizes(sizes, "Expand")
    return [broadcast([call.operand(0).shape, target])]


def gather(call: Call) -> list[Shape]:
    data, indices = call.operand(0), call.operand(1)
    axis = axis_of(call.attribute("axis", 0), data.rank)
    return [data.shape[:axis] + indices.shape + data.shape[axis + 1 :]]


def gather_elements(call: Call) -> list[Shape]:
    data, indices = call.operand(0), call.operand(1)
    axis_of(call.attribute("axis", 0), data.rank)
    if indices.rank != data.rank:
        raise violation("rank of the indices", given=indices.rank, expected=data.rank)
    return [indices.shape]


def pad(call: Call) -> list[Shape]:
    data, pads = call.operand(0), vector(call.operand(1), "the pads of Pad", 2 * MOST_AXES)
    axes = list(range(data.rank))
    if (given := call.optional(3)) is not None:
        known = ints(vector(given, "the axes of Pad"))
        if known is None:
            return [(None,) * data.rank]
        axes = axes_of(known, data.rank)
    pads = (None,) * (2 * len(axes)) if pads is None else pads
    if len(pads) != 2 * len(axes):
        raise violation("pads of Pad", given=f"{len(pads)} values", expected=2 * len(axes))
    result = list(data.shape)
    for begin, end, axis in zip(pads[: len(axes)], pads[len(axes) :], axes, strict=True):
        result[axis] = add(add(result[axis], begin), end)
    return [_sizes(result, "the result of Pad")]


def reduce(call: Call) -> list[Shape]:
    data, given = call.operand(0), call.optional(1)
    keep, may_skip = call.attribute("keepdims", 1), call.attribute("noop_with_empty_axes", 0)
    if given is None and not keep and not may_skip:
        return [()]
    axes = list(range(data.rank))
    if given is not None:
        what = "the axes of a reduction"
        elements = vector(given, what)
        known = ints(elements)
        if known is None and keep:
            return [tuple(1 if dim == 1 else None for dim in data.shape)]
        if elements is None:
            return [call.unknown(what, given)]
        if known is None:
            return [(None,) * (data.rank - len(elements))]
        axes = axes_of(known, data.rank) or axes
    if may_skip and (given is None or given.dims == ()):
        return [data.shape]
    if keep:
        return [tuple(1 if i in axes else dim for i, dim in enumerate(data.shape))]
    return [tuple(dim for i, dim in enumerate(data.shape) if i not in axes)]


def slice_(call: Call) -> list[Shape]:
    data = call.operand(0)
    given = [call.operand(1), call.operand(2), call.optional(3), call.optional(4)]
    read = [None if each is None else vector(each, "an operand of Slice") for each in given]
    lengths = {len(each) for each in read if each is not None}
    if len(lengths) > 1:
        shown = ", ".join("?" if each is None else str(len(each)) for each in read)
        raise violation("starts, ends, axes, steps of Slice", given=f"lengths {shown}")
    count = min(lengths, default=0)
    starts, ends, axes, steps = ((None,) * count if each is None else each for each in read)
    axes = tuple(range(count)) if given[2] is None else axes
    steps = (1,) * count if given[3] is None else steps
    known = ints(axes) if lengths else None
    if known is None:
        return [(None,) * data.rank]
    result = list(data.shape)
    for axis, *bounds in zip(axes_of(known, data.rank), starts, ends, steps, strict=True):
        result[axis] = _slice_dim(result[axis], *bounds)
    return [tuple(result)]


def _slice_dim(dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    if step == 0:
        raise violation("steps of Slice", given=0, expected="not 0")
    if not isinstance(step, int):
        return None
    if step < 0 and isinstance(end, int) and end >= TO_THE_END:
        # The specification clamps such an end to the last index, onnxruntime to "through 0".
        raise violation("end of Slice", given=f"{end} with step {step}", expected=f"at most {-TO_THE_END}")
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*slice_bounds(dim, start, end, step)))
    return slice_length(dim, start, end, step)


def split(call: Call) -> list[Shape]:
    data, given, count = call.operand(0), call.optional(1), call.results
    axis = axis_of(call.attribute("axis", 0), data.rank)
    if call.attribute("num_outputs", count) != count:
        raise violation("results of Split", given=count, expected=call.attribute("num_outputs"))
    most = max(MOST_AXES, count)
    parts = equal_parts(data.shape[axis], count) if given is None else vector(given, "split", most)
    parts = (None,) * count if parts is None else parts
    if len(parts) != count:
        raise violation("results of Split", given=count, expected=len(parts))
    known, size = ints(parts), data.shape[axis]
    if known is not None and isinstance(size, int) and (sum(known) != size or min(known) < 0):
        raise violation("sizes of Split", given=known, expected=f"parts of {size}")
    return [(*data.shape[:axis], part, *data.shape[axis + 1 :]) for part in parts]


def equal_parts(size: Dim, count: int) -> tuple[Dim, ...]:
    """Return Split's sizes by default: equal parts, rounded up, and the rest."""
    part = ceildiv(size, count)
    last = subtract(size, multiply(part, count - 1))
    if isinstance(last, int) and last < 0:
        raise violation("results of Split", given=count, expected=f"parts of a size of {size}")
    return (part,) * (count - 1) + (last,)


def tile(call: Call) -> list[Shape]:
    data, repeats = call.operand(0), vector(call.operand(1), "the repeats of Tile")
    repeats = (None,) * data.rank if repeats is None else repeats
    if len(repeats) != data.rank:
        raise violation("repeats of Tile", given=f"{len(repeats)} values", expected=data.rank)
    _sizes(repeats, "Tile")
    return [tuple(map(multiply, data.shape, repeats))]


def transpose(call: Call) -> list[Shape]:
    data = call.operand(0)
    perm: Sequence[int] = call.attribute("perm", list(reversed(range(data.rank))))
    if sorted(perm) != list(range(data.rank)):
        raise violation("perm", given=list(perm), expected=f"the axes 0..{data.rank - 1} once each")
    return [tuple(data.shape[axis] for axis in perm)]


def scatter_nd(call: Call) -> list[Shape]:
    data, indices, updates = (call.operand(i) for i in range(3))
    depth = indices.shape[-1] if indices.rank else 0
    if not isinstance(depth, int):
        return [data.shape]
    if not 0 < depth <= data.rank:
        raise violation("last dim of the indices", given=depth, expected=f"1 to {data.rank}")
    expected = indices.shape[:-1] + data.shape[depth:]
    fits = len(expected) == updates.rank and all(map(same_dim, expected, updates.shape))
    if not fits:
        raise violation("updates of ScatterND", given=show(updates.shape), expected=show(expected))
    return [data.shape]


RULES: Mapping[str, Mapping[str, Rule]] = {
    "ARITHMETIC": {
        "PRelu": same_as_first,
    },
    "BOUNDED": {
        "Clip": clip,
    },
    "NORMALIZATIONS": {
        "MeanVarianceNormalization": same_as_first,
    },
    "POOLS": {
        "AveragePool": average_pool,
    },
    "PRODUCTS": {
        "Conv": conv,
        "ConvTranspose": conv_transpose,
    },
    "VIEWS": {
        "Identity": same_as_first,
        "Reshape": reshape,
        "Squeeze": squeeze,
        "Unsqueeze": unsqueeze,
    },
    "MOVES": {
        "Concat": concat,
        "DepthToSpace": depth_to_space,
        "Expand": expand,
        "Gather": gather,
        "GatherElements": gather_elements,
        "Pad": pad,
        "Slice": slice_,
        "Split": split,
        "Tile": tile,
        "Transpose": transpose,
    },
    "SCATTERS": {
        "ScatterND": scatter_nd,
    },
    "CREATIONS": {
        "Constant": constant,
        "ConstantOfShape": constant_of_shape,
        "Range": range_,
    },
    "SIZES": {
        "Shape": shape,
    },
    "SAMPLINGS": {
        "Resize": resize,
    },
    "ATTENTION": {
        "RotaryEmbedding": same_as_first,
    },
    "OF_NO_KIND": {
        # adds up what it moves: neither a move nor a scatter by indices
        "Col2Im": col2im,
    },
}
"""Kind in `traits` -> op -> its shape rule."""
