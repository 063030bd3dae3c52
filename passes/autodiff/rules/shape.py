"""VJP rules of ops that move elements independently of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of, axis_of
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.values import constant_of
from dialects.shapes import bounds
from passes.autodiff.common.dynamic_axes import flat_indices, reshape_as, scatter_add_flat, scatter_flat
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import (
    SliceAxis,
    pad_zeros,
    size_of,
    slice_adjoint,
    takes_one,
    vector,
)
from passes.autodiff.rules import pad_modes
from passes.builder.values import Builder, Value


def view(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (reshape_as(g[0], f.x), ZERO)


def squeeze(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axes = f.operand(1)
    if axes is None or _has_unknown_count(axes):
        return (reshape_as(g[0], f.x), ZERO)
    return (g[0].apply(onnx.UnsqueezeOp, axes), ZERO)


def unsqueeze(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axes = f.operand(1)
    assert axes is not None
    if _has_unknown_count(axes):
        return (reshape_as(g[0], f.x), ZERO)
    return (g[0].apply(onnx.SqueezeOp, axes) if f.x.rank < g[0].rank else g[0], ZERO)


def _has_unknown_count(axes: Value) -> bool:
    """Return whether the number of axes is dynamic, and so the result's rank."""
    return not isinstance(axes.shape[0], int)


def transpose(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    perm = f.value("perm", list(reversed(range(f.x.rank))))
    return (g[0].transpose([perm.index(axis) for axis in range(len(perm))]),)


def expand(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0], ZERO)


def tile(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Tile: split each axis into repeats and elements, and sum over the repeats."""
    repeats, rank = f.operand(1), f.x.rank
    assert repeats is not None
    if not rank:
        return (g[0], ZERO)
    known = constant_of(repeats.value)
    times = [
        int(known[i]) if known is not None else repeats.apply(onnx.GatherOp, e.ints([i]), axis=0)
        for i in range(rank)
    ]
    sizes = [size for i in range(rank) for size in (times[i], size_of(f.x, i))]
    split = g[0].apply(onnx.ReshapeOp, vector(g[0], sizes), allowzero=1 if _may_be_empty(sizes) else None)
    return (split.apply(onnx.ReduceSumOp, e.ints(range(0, 2 * rank, 2)), keepdims=0), ZERO)


def _may_be_empty(sizes: Sequence[int | Value]) -> bool:
    return not all(isinstance(size, int) and size for size in sizes)


# Parts and wholes


def concat(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Concat: a Split."""
    operands = [operand for operand in f.operands if operand is not None]
    if len(operands) == 1:
        return (g[0],)
    axis = axis_of(f.value("axis"), f.x.rank)
    sizes = vector(g[0], [size_of(operand, axis) for operand in operands])
    parts = e.emit.all(onnx.SplitOp(g[0].value, sizes.value, axis=axis, results=len(operands)))
    return [e(part) for part in parts]


def split(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Split: a Concat, with zeros for unused parts."""
    axis = axis_of(f.value("axis", 0), f.x.rank)
    sizes = [result.shape[axis] for result in f.results if result is not None]
    known = [size for size in sizes if isinstance(size, int)]
    read = [i for i in range(len(sizes)) if f.is_read(i)]
    if len(read) == 1 and len(known) == len(sizes):
        begin, end = ([0] * f.x.rank for _ in range(2))
        begin[axis], end[axis] = sum(known[: read[0]]), sum(known[read[0] + 1 :])
        return (pad_zeros(g[read[0]], begin, end), ZERO)
    return (e.concat([g[i] for i in range(len(sizes))], axis), ZERO)


def slice_(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    starts, stops = f.operand(1), f.operand(2)
    assert starts is not None
    assert stops is not None
    axes, steps = (_ints(f.operand(i)) for i in (3, 4))
    counts = [starts.shape[0], stops.shape[0], *(len(given) for given in (axes, steps) if given is not None)]
    count = next((count for count in counts if isinstance(count, int)), None)
    if count is None or _is_dynamic(f.operand(3), axes) or _is_dynamic(f.operand(4), steps):
        places = flat_indices(f.x).apply(onnx.SliceOp, *f.operands[1:])
        return (scatter_flat(g[0], places, f.x), *[ZERO] * 4)
    axes = axes_of(list(range(count)) if axes is None else axes, f.x.rank)
    steps = [1] * count if steps is None else steps
    first, last = _entries(starts, count), _entries(stops, count)
    ends = [entry if isinstance(entry, int) else None for entry in last]
    taken = [
        SliceAxis(axis, start, end, step, takes_one(g[0].shape[axis], step))
        for axis, start, end, step in zip(axes, first, ends, steps, strict=True)
    ]
    return (slice_adjoint(g[0], f.x, taken), *[ZERO] * 4)


def _ints(given: Value | None) -> list[int] | None:
    """Return the values of a constant operand; None if it is absent or dynamic."""
    value = None if given is None else constant_of(given.value)
    return None if value is None else [int(x) for x in value]


def _is_dynamic(given: Value | None, values: Sequence[int] | None) -> bool:
    """Return whether an operand is present with dynamic values."""
    return given is not None and values is None


def _entries(values: Value, count: int) -> list[int | Value]:
    """Return the elements of a vector: numbers, or vectors of one element."""
    known = constant_of(values.value)
    if known is not None:
        return [min(max(int(x), -TO_THE_END), TO_THE_END) for x in known]
    e = values.e
    return [values.as_int64().apply(onnx.GatherOp, e.ints([i]), axis=0) for i in range(count)]


def pad(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axes = _ints(f.operand(3))
    if _is_dynamic(f.operand(3), axes):
        inner = _dynamic_pad_gradient(f, g[0])
    else:
        inner = _pad_gradient(f, g[0], list(range(f.x.rank)) if axes is None else axes_of(axes, f.x.rank))
    fill: Gradient = ZERO
    if f.wants(2) and f.value("mode", "constant") == "constant":
        fill = _total(g[0]) - _total(inner)
        value = f.operand(2)
        fill = fill if value is None or not value.rank else reshape_as(fill, value)
    return (inner, ZERO, fill, ZERO)


def _pad_gradient(f: Primal, g: Value, axes: Sequence[int]) -> Value:
    """Return the gradient of the operand of a Pad along constant axes."""
    given, mode = f.operand(1), f.value("mode", "constant")
    assert given is not None
    entries = _entries(given, 2 * len(axes))
    begin, end = entries[: len(axes)], entries[len(axes) :]
    if mode != "constant":
        return pad_modes.pad_adjoint(g, f.x, axes, begin, end, mode)
    before: list[int | Value] = [0] * f.x.rank
    behind: list[int | Value] = [0] * f.x.rank
    for axis, first, last in zip(axes, begin, end, strict=True):
        before[axis], behind[axis] = -first, -last
    return pad_zeros(g, before, behind).assume_shape(f.x.shape)


def _dynamic_pad_gradient(f: Primal, g: Value) -> Value:
    """Return the gradient of the operand of a Pad along run-time axes."""
    pads, axes, mode = f.operand(1), f.operand(3), f.value("mode", "constant")
    assert pads is not None
    if mode == "constant":
        return g.apply(onnx.PadOp, -pads, None, axes).assume_shape(f.x.shape)
    return scatter_add_flat(g, flat_indices(f.x).apply(onnx.PadOp, pads, None, axes, mode=mode), f.x)


def _total(x: Value) -> Value:
    return x.apply(onnx.ReduceSumOp, keepdims=0)


def range_(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Range, start + i delta; the limit only determines the length."""
    steps = iota(size_of(g[0], 0), g[0]).cast(g[0].dtype).assume_shape(g[0].shape)
    return (_total(g[0]), ZERO, _total(g[0] * steps))


# Blocks and triangles


def depth_to_space(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    block, mode = f.value("blocksize"), f.value("mode", "DCR")
    if mode == "DCR":
        return (g[0].apply(onnx.SpaceToDepthOp, blocksize=block),)
    batch, channels, height, width = (size_of(g[0], i) for i in range(4))
    # One image per channel; its positions become channels in the order of this mode.
    images = vector(g[0], [batch * channels, 1, height, width])
    alone = g[0].apply(onnx.ReshapeOp, images, allowzero=_zeros(f.x))
    return (reshape_as(alone.apply(onnx.SpaceToDepthOp, blocksize=block), f.x),)


def _zeros(x: Value) -> int | None:
    return None if all(bounds.is_at_least(dim, 1) for dim in x.shape if dim is not None) else 1


def space_to_depth(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0].apply(onnx.DepthToSpaceOp, blocksize=f.value("blocksize"), mode=f.value("mode")),)


def trilu(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0].apply(onnx.TriluOp, f.operand(1), upper=f.value("upper")), ZERO)


def reverse_sequence(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0].apply(onnx.ReverseSequenceOp, f.operand(1), **f.attributes), ZERO)


def center_crop_pad(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of CenterCropPad: cropped elements get 0, padding is dropped."""
    axes = f.value("axes")
    sizes = e.shape(f.x) if axes is None else vector(g[0], [size_of(f.x, i % f.x.rank) for i in axes])
    return (g[0].apply(onnx.CenterCropPadOp, sizes, axes=axes), ZERO)


def dropout(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Dropout: in training, kept elements were scaled by 1 / (1 - ratio)."""
    ratio, training = f.operand(1), f.operand(2)
    value = None if training is None else constant_of(training.value)
    if training is None or (value is not None and not value.any()):
        return (g[0], ZERO, ZERO)
    kept = f.results[1]
    assert kept is not None
    scale = e.scalar(2, g[0]) if ratio is None else 1 / (1 - ratio.cast(g[0].dtype))
    factor = training.where(scale, 1) if value is None else scale
    return (e.keep(g[0] * factor, kept), ZERO, ZERO)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "CenterCropPad": center_crop_pad,
        "Concat": concat,
        "DepthToSpace": depth_to_space,
        "Dropout": dropout,
        "Expand": expand,
        "Flatten": view,
        "Pad": pad,
        "Range": range_,
        "Reshape": view,
        "ReverseSequence": reverse_sequence,
        "Slice": slice_,
        "SpaceToDepth": space_to_depth,
        "Split": split,
        "Squeeze": squeeze,
        "Tile": tile,
        "Transpose": transpose,
        "Trilu": trilu,
        "Unsqueeze": unsqueeze,
    }
)
"""ONNX op -> its rule."""
