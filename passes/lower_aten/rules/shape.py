"""Views: reshapes, permutations, axes of size 1, copies, and joins and splits along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.indices import iota
from passes.lower_aten.promotion import is_float
from passes.lower_aten.shapes import expand_to, sizes


def product_of(sizes: Sequence[Form]) -> Form:
    """Return the number of elements of a shape."""
    total: Form = 1
    for size in sizes:
        total = total * size
    return total


def reshape_to(f: Call, x: Value, shape: Sequence[Form]) -> Value:
    """Reshape. Sizes are constants where one that depends on dims can be inferred (-1) or copied (0)."""
    if tuple(shape) == x.shape:
        return x
    dynamic = [axis for axis, size in enumerate(shape) if not isinstance(size, int)]
    others = [size for size in shape if isinstance(size, int)]
    if len(dynamic) == 1 and 0 not in others:
        return x.apply(onnx.ReshapeOp, f.e.ints([size if isinstance(size, int) else -1 for size in shape]))
    copied = all(axis < x.rank and shape[axis] == x.shape[axis] for axis in dynamic)
    if dynamic and copied and 0 not in others:
        return x.apply(onnx.ReshapeOp, f.e.ints([size if isinstance(size, int) else 0 for size in shape]))
    return x.apply(onnx.ReshapeOp, f.vector(shape), allowzero=1)


def view(f: Call, e: Builder) -> Value:
    """A reshape to the sizes of the result, as `size` may contain a -1."""
    return reshape_to(f, f.self, f.shape)


def expand(f: Call, e: Builder) -> Value:
    return expand_to(f, f.self, f.shape)


def permute_axes(x: Value, perm: Sequence[int]) -> Value:
    """Permute the axes, if they move."""
    return x if list(perm) == list(range(x.rank)) else x.transpose(perm)


def permute(f: Call, e: Builder) -> Value:
    return permute_axes(f.self, [axis % f.self.rank for axis in f.dims])


def transpose(f: Call, e: Builder) -> Value:
    perm = list(range(f.self.rank))
    if perm:
        first, second = f.dim0 % len(perm), f.dim1 % len(perm)
        perm[first], perm[second] = second, first
    return permute_axes(f.self, perm)


def transpose_matrix(f: Call, e: Builder) -> Value:
    return permute_axes(f.self, list(reversed(range(f.self.rank))))


def squeeze(f: Call, e: Builder) -> Value:
    """Remove axes of size 1: all, or those of the given ones."""
    rank = f.self.rank
    given: int | list[int] = f.dim if "dim" in f.arguments else list(range(rank))
    wanted = [axis % max(rank, 1) for axis in (given if isinstance(given, list) else [given])]
    axes = [axis for axis in range(rank) if axis in wanted and f.self.shape[axis] == 1]
    return f.self.squeeze(axes) if axes else f.self


def unsqueeze(f: Call, e: Builder) -> Value:
    return f.self.unsqueeze([f.dim % (f.self.rank + 1)])


def identity(f: Call, e: Builder) -> Value:
    return f.self.cast(f.dtype)


def copy(f: Call, e: Builder) -> Value:
    """The elements of `src` at the sizes and dtype of `self`."""
    return expand_to(f, f.src.cast(f.dtype), f.shape)


def _is_legacy_empty(value: Value) -> bool:
    """Return whether a tensor is one of sizes (0,), which torch joins with any other."""
    return value.shape == (0,)


def cat(f: Call, e: Builder) -> Value:
    rank = len(f.shape)
    parts = [value.cast(f.dtype) for value in f.tensors if not (_is_legacy_empty(value) and rank != 1)]
    if not parts:
        return f.full(0, f.shape, f.dtype)
    return parts[0] if len(parts) == 1 else e.concat(parts, f.dim % rank)


def stack(f: Call, e: Builder) -> Value:
    axis = f.dim % len(f.shape)
    parts = [value.cast(f.dtype).unsqueeze([axis]) for value in f.tensors]
    return parts[0] if len(parts) == 1 else e.concat(parts, axis)


def split(f: Call, e: Builder) -> Sequence[Value | None]:
    """Parts of the sizes of the results, those that are read."""
    axis: int = f.dim % f.self.rank
    parts = len(f.op.results)
    if parts == 1:
        return [f.self]
    lengths = f.vector([sizes(e(result))[axis] for result in f.op.results])
    return [
        e(part) for part in e.emit.all(onnx.SplitOp(f.self.value, lengths.value, axis=axis, results=parts))
    ]


def unbind(f: Call, e: Builder) -> Sequence[Value | None]:
    axis = f.dim % f.self.rank
    return [
        take_position(f, f.self, axis, index) if f.is_read(index) else None
        for index in range(len(f.op.results))
    ]


def take_position(f: Call, x: Value, axis: int, index: Form) -> Value:
    """Take one position of an axis, which is removed."""
    return x.apply(onnx.GatherOp, f.vector([index]).squeeze([0]), axis=axis)


def select(f: Call, e: Builder) -> Value:
    return take_position(f, f.self, f.dim % f.self.rank, f.index)


WHOLE = 2**63 - 1
"""The end of a slice that has none."""


def slice_axis(f: Call, x: Value, axis: int, start: Form, end: Form, step: Form = 1) -> Value:
    """Take a slice of an axis; negative bounds count from its end."""
    if start == 0 and step == 1 and (end == x.shape[axis] or (isinstance(end, int) and end >= WHOLE)):
        return x
    return x.apply(onnx.SliceOp, f.vector([start]), f.vector([end]), f.e.ints([axis]), f.vector([step]))


def slice_(f: Call, e: Builder) -> Value:
    start = 0 if f.start is None else f.start
    end = WHOLE if f.end is None else f.end
    return slice_axis(f, f.self, f.dim % f.self.rank, start, end, f.step)


def repeat(f: Call, e: Builder) -> Value:
    x = with_rank(f.self, len(f.repeats))
    return x if all(times == 1 for times in f.repeats) else x.apply(onnx.TileOp, f.vector(f.repeats))


def with_rank(x: Value, rank: int) -> Value:
    """Add leading axes of size 1 up to a rank."""
    return x.unsqueeze(list(range(rank - x.rank))) if rank > x.rank else x


def flip(f: Call, e: Builder) -> Value:
    axes = [axis % f.self.rank for axis in f.dims] if f.self.rank else []
    if not axes:
        return f.self
    starts, ends = e.ints([-1] * len(axes)), e.ints([-WHOLE] * len(axes))
    return f.self.apply(onnx.SliceOp, starts, ends, e.ints(axes), e.ints([-1] * len(axes)))


def roll(f: Call, e: Builder) -> Value:
    """Move positions along axes, the last ones to the front; without axes, of the flat tensor."""
    if not f.self.rank:
        return f.self
    if not f.dims:
        flat = f.self.apply(onnx.ReshapeOp, e.ints([-1]))
        total = product_of(sizes(f.self))
        return reshape_to(f, _roll_axis(f, flat, 0, f.shifts[0], total), f.shape)
    x: Value = f.self
    for shift, dim in zip(f.shifts, f.dims, strict=True):
        axis: int = dim % x.rank
        x = _roll_axis(f, x, axis, shift, sizes(f.self)[axis])
    return x


def _roll_axis(f: Call, x: Value, axis: int, shift: Form, size: Form) -> Value:
    if isinstance(size, int) and isinstance(shift, int):
        shift = shift % size if size else 0
        if not shift:
            return x
        return f.e.concat([slice_axis(f, x, axis, -shift, WHOLE), slice_axis(f, x, axis, 0, -shift)], axis)
    moved = (iota(f, size) - f.vector([shift])).apply(onnx.ModOp, f.vector([size]).at_least(1))
    return x.apply(onnx.GatherOp, moved, axis=axis)


def pixel_shuffle(f: Call, e: Builder) -> Value:
    """Channels (c, r, r) become blocks of r x r positions."""
    r, (*batch, channels, height, width) = f.upscale_factor, sizes(f.self)
    if len(batch) == 1 and is_float(f.dtype):
        return f.self.apply(onnx.DepthToSpaceOp, blocksize=r, mode="CRD")
    split_ = reshape_to(f, f.self, (*batch, _quotient(channels, r * r), r, r, height, width))
    n = len(batch)
    return reshape_to(f, split_.transpose([*range(n), n, n + 3, n + 1, n + 4, n + 2]), f.shape)


def _quotient(size: Form, by: int) -> Form:
    return floordiv(size, by)


def pixel_unshuffle(f: Call, e: Builder) -> Value:
    """Blocks of r x r positions become channels (c, r, r)."""
    r, (*batch, channels, height, width) = f.downscale_factor, sizes(f.self)
    parts = (*batch, channels, _quotient(height, r), r, _quotient(width, r), r)
    n = len(batch)
    moved = reshape_to(f, f.self, parts).transpose([*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return reshape_to(f, moved, f.shape)


def as_strided(f: Call, e: Builder) -> Value:
    """A reshape, if the strides are those of a contiguous tensor of as many elements."""
    strides, step = list[Form](), cast(Form, 1)
    for size in reversed(f.size):
        strides.insert(0, step)
        step = step * size
    same = all(size == 1 or a == b for size, a, b in zip(f.size, f.stride, strides, strict=True))
    if not same or step != product_of(sizes(f.self)) or f.storage_offset not in (None, 0):
        hint = "use unfold, index_select or slices, which do not depend on how the tensor is stored"
        raise f.refusal("as_strided of overlapping or non-contiguous elements", hint=hint)
    return reshape_to(f, f.self, f.size)


_IDENTITIES = (
    "alias.default",
    "clone.default",
    "detach.default",
    "lift_fresh.default",
    "lift_fresh_copy.default",
    "_to_copy.default",
    "contiguous.default",
    "positive.default",
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("view.default", "_unsafe_view.default", "reshape.default"), view),
        "expand.default": expand,
        "permute.default": permute,
        "transpose.int": transpose,
        "t.default": transpose_matrix,
        **dict.fromkeys(("squeeze.default", "squeeze.dim", "squeeze.dims"), squeeze),
        "unsqueeze.default": unsqueeze,
        **dict.fromkeys(_IDENTITIES, identity),
        "copy.default": copy,
        "cat.default": cat,
        "stack.default": stack,
        **dict.fromkeys(("split.Tensor", "split_with_sizes.default"), split),
        "unbind.int": unbind,
        "select.int": select,
        "slice.Tensor": slice_,
        "repeat.default": repeat,
        "flip.default": flip,
        "roll.default": roll,
        "pixel_shuffle.default": pixel_shuffle,
        "pixel_unshuffle.default": pixel_unshuffle,
        "as_strided.default": as_strided,
    }
)
