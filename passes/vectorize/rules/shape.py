"""Batching rules of ops that move elements or read shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from dialects.support.shapes import static
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result, Unbatched
from passes.vectorize.rules.axes import axis_operand, shift, shift_operand


def reshape(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Prefix the shape with the size of the new axis; a 0 copies the size at its index on both sides."""
    data, shape = f.present
    if shape.batched:
        return None
    copies = not f.value("allowzero", 0)
    first = b.size if isinstance(b.size, int) or not copies else 0
    known = shape.constant
    whole = b.vector([first, *map(int, known)]) if known is not None else b.vector([first, shape.value.value])
    return f.again(b, [data.value, whole])


def flatten(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data = f.present[0]
    if not data.has_rank:
        return None
    axis = f.value("axis", 1)
    sizes = b.sizes(data.value)[1:]
    parts = [b.product(part) for part in (sizes[:axis], sizes[axis:])]
    return [b.reshape(data.value, [b.size, *parts])]


def squeeze(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, axes = (*f.operands, None)[:2]
    assert data is not None
    if axes is not None:
        return f.again(b, [data.value, shift_operand(b, axes)]) if f.only_batched(0) else None
    shape = static(data.shape) if data.has_rank else None
    if shape is None:
        return None
    ones = [1 + axis for axis, size in enumerate(shape) if size == 1]
    return f.again(b, [data.value, b.e.ints(ones)]) if ones else [data.value]


def transpose(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data = f.present[0]
    if not data.has_rank:
        return None
    perm = f.value("perm", None) or list(reversed(range(data.rank)))
    return f.again(b, [data.value], perm=[0, *(axis + 1 for axis in perm)])


def expand(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The rows get the rank of the result; its shape then broadcasts to all but the new axis."""
    data, shape = f.present
    if shape.batched or not shape.has_rank or not data.has_rank:
        return None
    count = shape.shape[0]
    if not isinstance(count, int):
        return None
    return f.again(b, [b.align(data, max(count, data.rank)), shape.value])


def tile(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, repeats = f.present
    if repeats.batched:
        return None
    return f.again(b, [data.value, _prefix(b, repeats, 1)])


def _prefix(b: Batch, vector: Operand, first: int) -> Value:
    """Return a vector with one more entry in front."""
    known = vector.constant
    if known is not None:
        return b.e(b.e.emit.constant(np.array([first, *known], known.dtype)))
    front = b.e(b.e.emit.constant(np.array([first], np.int64))).cast(vector.value.dtype)
    return b.e.concat([front, vector.value], 0)


def slice_(f: OpCall, b: Batch) -> Sequence[Result] | None:
    if not f.only_batched(0):
        return None
    data, starts, ends, axes, steps = (*f.operands, None, None)[:5]
    assert data is not None
    assert starts is not None
    assert ends is not None
    if axes is None:
        count = starts.shape[0] if starts.has_rank else None
        if not isinstance(count, int):
            return None
        along = b.e.ints(range(1, count + 1)).cast(starts.value.dtype)
    else:
        along = shift_operand(b, axes)
    stride = [] if steps is None else [steps.value]
    return f.again(b, [data.value, starts.value, ends.value, along, *stride])


def pad(f: OpCall, b: Batch) -> Sequence[Result] | None:
    if not f.only_batched(0):
        return None
    data, pads, value, axes = (*f.operands, None, None)[:4]
    assert data is not None
    assert pads is not None
    filler = None if value is None else value.value
    if axes is not None:
        return f.again(b, [data.value, pads.value, filler, shift_operand(b, axes)])
    if not data.has_rank:
        return None
    known = pads.constant
    if known is not None:
        entries = list(map(int, known))
        middle = len(entries) // 2
        whole = b.e.ints([0, *entries[:middle], 0, *entries[middle:]])
    else:
        bounds = [b.e.ints([number]) for number in (0, data.rank, 2 * data.rank)]
        begin, end = (pads.value.apply(onnx.SliceOp, *bounds[i : i + 2]) for i in (0, 1))
        whole = b.vector([0, begin.value, 0, end.value])
    return f.again(b, [data.value, whole, *([] if filler is None else [filler])])


def reverse_sequence(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The new axis goes behind the others, as the first two have fixed meanings."""
    data, lengths = f.present
    if lengths.batched or not data.has_rank:
        return None
    found = f.again(b, [b.move(data.value, 0, data.rank), lengths.value])[0]
    return [b.move(found, data.rank, 0)]


def shape(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data = f.present[0]
    sizes = b.row_sizes(data)
    start, end = f.value("start", 0), f.value("end", None)
    if start == 0 and end is None:
        return [Unbatched(sizes)]
    ends = b.e.ints([2**31 - 1 if end is None else end])
    return [Unbatched(sizes.apply(onnx.SliceOp, b.e.ints([start]), ends))]


def size(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return [Unbatched(b.row_sizes(f.present[0]).apply(onnx.ReduceProdOp, keepdims=0))]


def like(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Rule of ops that read the shape and the dtype of their operand."""
    return [Unbatched(x) for x in f.again(b, [b.row_zeros(f.present[0])])]


def resize(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold the new axis into the first one, which is not resize_gradient; otherwise add one to the lists."""
    data, roi, scales, sizes = (*f.operands, None, None, None)[:4]
    assert data is not None
    if not f.only_batched(0) or not data.has_rank:
        return None
    axes = f.value("axes", None)
    if axes is not None:
        return f.along(b, axes=[shift(axis) for axis in axes])
    if f.value("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" and roi is not None:
        return None
    if _keeps_first_axis(data, scales, sizes):
        count = b.sizes(data.value)[1]
        whole = [b.fold(data.value), None if roi is None else roi.value]
        if sizes is None:
            return [b.unfold(x, count) for x in f.along_others(b, whole)]
        assert sizes.constant is not None
        target = b.vector([b.product([b.size, count]), *map(int, sizes.constant[1:])])
        return [b.unfold(x, count) for x in f.again(b, [*whole, None, target])]
    if sizes is None:
        return f.again(b, [data.value, None, None if scales is None else _prefix(b, scales, 1)])
    if f.value("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    known = sizes.constant
    rows = [sizes.value.value] if known is None else list(map(int, known))
    return f.again(b, [data.value, None, None, b.vector([b.size, *rows])])


def _keeps_first_axis(data: Operand, scales: Operand | None, sizes: Operand | None) -> bool:
    if data.rank < 2:
        return False
    if sizes is not None:
        return sizes.constant is not None and sizes.constant[0] == data.shape[0]
    return scales is not None and scales.constant is not None and scales.constant[0] == 1


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys(("EyeLike", "RandomNormalLike", "RandomUniformLike"), like),
        "Expand": expand,
        "Flatten": flatten,
        "Pad": pad,
        "Reshape": reshape,
        "Resize": resize,
        "ReverseSequence": reverse_sequence,
        "Shape": shape,
        "Size": size,
        "Slice": slice_,
        "Squeeze": squeeze,
        "Tile": tile,
        "Transpose": transpose,
        "Unsqueeze": axis_operand,
    }
)
