"""Parts of tensors that are written or padded: scatters and backward ops of slices, diagonals and windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import i32

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Number, Rule
from passes.lower_aten.indices import back, front, iota, scatter_rows
from passes.lower_aten.promotion import BOOL, category
from passes.lower_aten.rules.compare import chosen
from passes.lower_aten.rules.creation import diagonal_mask
from passes.lower_aten.rules.shape import WHOLE, permute_axes, reshape_to, slice_axis
from passes.lower_aten.shapes import sizes


def pad_axis(f: Call, x: Value, axis: int, before: Form, after: Form, number: Number = 0) -> Value:
    """Pad an axis with a number."""
    if before == after == 0:
        return x
    return x.apply(onnx.PadOp, f.vector([before, after]), f.number(number, x.dtype), f.e.ints([axis]))


def pad(f: Call, e: Builder) -> Value:
    """Pad the last axes, `pad` has two numbers for each from the last; negative ones remove elements."""
    x: Value = f.self
    pairs = list(zip(f.pad[::2], f.pad[1::2], strict=True))
    axes = [x.rank - 1 - index for index in range(len(pairs))]
    for axis, (before, after) in zip(axes, pairs, strict=True):
        x = _crop(f, x, axis, before, after)
    kept = [
        (axis, _at_least_0(before), _at_least_0(after))
        for axis, (before, after) in zip(axes, pairs, strict=True)
    ]
    kept = [entry for entry in kept if entry[1:] != (0, 0)]
    if not kept:
        return x
    pads = f.vector([*(before for _, before, _ in kept), *(after for _, _, after in kept)])
    return x.apply(onnx.PadOp, pads, f.number(f.value, x.dtype), e.ints([axis for axis, _, _ in kept]))


def _at_least_0(size: Form) -> Form:
    return max(size, 0) if isinstance(size, int) else size


def _crop(f: Call, x: Value, axis: int, before: Form, after: Form) -> Value:
    start = -before if isinstance(before, int) and before < 0 else 0
    end = after if isinstance(after, int) and after < 0 else WHOLE
    return slice_axis(f, x, axis, start, end)


def place_in_zeros(f: Call, x: Value, axis: int, start: Form, step: Form, size: Form) -> Value:
    """Return an axis of `size` zeros with the positions of `x` at start, start + step, ..."""
    length = sizes(x)[axis]
    if length == 0:
        return f.full(0, _with_size(sizes(x), axis, size), x.dtype)
    if step == 1:
        return pad_axis(f, x, axis, start, size - length - start)
    spaced = _space_out(f, x, axis, step)
    rest = size - start - length * step
    if isinstance(rest, int) and rest < 0:
        return pad_axis(f, slice_axis(f, spaced, axis, 0, rest), axis, start, 0)
    if isinstance(rest, int):
        return pad_axis(f, spaced, axis, start, rest)
    return slice_axis(f, pad_axis(f, spaced, axis, start, rest + step), axis, 0, size)


def _with_size(shape: Sequence[Form], axis: int, size: Form) -> tuple[Form, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _space_out(f: Call, x: Value, axis: int, step: Form) -> Value:
    """Follow each position of an axis by step - 1 zeros."""
    shape = sizes(x)
    wide = pad_axis(f, x.unsqueeze([axis + 1]), axis + 1, 0, step - 1)
    return reshape_to(f, wide, _with_size(shape, axis, shape[axis] * step))


def start_of(f: Call, size: Form) -> Form:
    """Return the first position of a slice, as torch limits it."""
    start: Form = 0 if f.start is None else f.start
    if isinstance(start, int) and start < 0:
        start = start + size
    if isinstance(start, int) and isinstance(size, int):
        return min(max(start, 0), size)
    return start


def slice_backward(f: Call, e: Builder) -> Value:
    axis: int = f.dim % len(f.shape)
    return place_in_zeros(f, f.grad_output, axis, start_of(f, f.shape[axis]), f.step, f.shape[axis])


def _position(index: Form, size: Form) -> Form:
    return index + size if isinstance(index, int) and index < 0 else index


def select_backward(f: Call, e: Builder) -> Value:
    axis: int = f.dim % len(f.shape)
    position = _position(f.index, f.shape[axis])
    return place_in_zeros(f, f.grad_output.unsqueeze([axis]), axis, position, 1, f.shape[axis])


def _overwrite(f: Call, x: Value, part: Value, axis: int, start: Form) -> Value:
    """Return `x` with a part written from `start` on."""
    size, length = sizes(x)[axis], sizes(part)[axis]
    end = start + length
    parts = [part]
    if start != 0:
        parts.insert(0, slice_axis(f, x, axis, 0, start))
    if end != size:
        parts.append(slice_axis(f, x, axis, end, WHOLE))
    return part if len(parts) == 1 else f.e.concat(parts, axis)


def slice_scatter(f: Call, e: Builder) -> Value:
    axis: int = f.dim % f.self.rank
    x, source = f.self, f.src.cast(f.dtype)
    length = sizes(source)[axis]
    start = start_of(f, f.shape[axis])
    if length == 0:
        return x
    if f.step == 1:
        return _overwrite(f, x, source, axis, start)
    indices = iota(f, length) * f.vector([f.step]) + f.vector([start])
    return scatter_rows(x, axis, indices, source)


def select_scatter(f: Call, e: Builder) -> Value:
    axis: int = f.dim % f.self.rank
    source = f.src.cast(f.dtype).unsqueeze([axis])
    return _overwrite(f, f.self, source, axis, _position(f.index, f.shape[axis]))


def _matrix_last(rank: int, dim1: int, dim2: int) -> list[int]:
    first, second = dim1 % rank, dim2 % rank
    return [*(axis for axis in range(rank) if axis not in (first, second)), first, second]


def inverse(perm: Sequence[int]) -> list[int]:
    return [perm.index(axis) for axis in range(len(perm))]


def diagonal(f: Call, e: Builder) -> Value:
    """Every (columns + 1)th element of the flat matrices."""
    x = permute_axes(f.self, _matrix_last(f.self.rank, f.dim1, f.dim2))
    *batch, rows, columns = sizes(x)
    if f.shape[-1] == 0:
        return f.full(0, f.shape, f.dtype)
    start = _first_of_diagonal(f.offset, columns)
    flat = reshape_to(f, x, (*batch, rows * columns))
    return slice_axis(f, flat, len(batch), start, start + f.shape[-1] * (columns + 1), columns + 1)


def _first_of_diagonal(offset: int, columns: Form) -> Form:
    return offset if offset >= 0 else columns * -offset


def diagonal_backward(f: Call, e: Builder) -> Value:
    perm = _matrix_last(len(f.shape), f.dim1, f.dim2)
    shape = [f.shape[axis] for axis in perm]
    *batch, rows, columns = shape
    start = _first_of_diagonal(f.offset, columns)
    flat = place_in_zeros(f, f.grad_output, len(batch), start, columns + 1, rows * columns)
    return permute_axes(reshape_to(f, flat, shape), inverse(perm))


def diagonal_scatter(f: Call, e: Builder) -> Value:
    perm = _matrix_last(f.self.rank, f.dim1, f.dim2)
    x, source = permute_axes(f.self, perm), f.src.cast(f.dtype)
    *batch, rows, columns = sizes(x)
    start = _first_of_diagonal(f.offset, columns)
    wide = source.cast(i32) if category(f.dtype) == BOOL else source  # onnxruntime pads no booleans
    flat = place_in_zeros(f, wide, len(batch), start, columns + 1, rows * columns).cast(f.dtype)
    written = reshape_to(f, flat, sizes(x))
    return permute_axes(chosen(diagonal_mask(f, rows, columns, f.offset), written, x), inverse(perm))


def diag_embed(f: Call, e: Builder) -> Value:
    perm = _matrix_last(len(f.shape), f.dim1, f.dim2)
    *batch, rows, columns = (f.shape[axis] for axis in perm)
    start = _first_of_diagonal(f.offset, columns)
    wide = f.self.cast(i32) if category(f.dtype) == BOOL else f.self
    flat = place_in_zeros(f, wide, len(batch), start, columns + 1, rows * columns).cast(f.dtype)
    return permute_axes(reshape_to(f, flat, (*batch, rows, columns)), inverse(perm))


def triangle(upper: bool) -> Rule:
    """Return the rule of a triangle of matrices."""

    def rule(f: Call, e: Builder) -> Value:
        x = f.self.cast(i32) if category(f.dtype) == BOOL else f.self
        offset = f.vector([f.diagonal]).squeeze([0])
        return x.apply(onnx.TriluOp, offset, upper=int(upper)).cast(f.dtype)

    return rule


def unfold(f: Call, e: Builder) -> Value:
    """Windows of an axis, whose positions are a new last axis."""
    if not f.self.rank:
        return f.self.unsqueeze([0])
    axis: int = f.dimension % f.self.rank
    windows = f.self.apply(onnx.GatherOp, _windows(f, f.shape[axis], f.size), axis=axis)
    rank = windows.rank
    return permute_axes(windows, [*(i for i in range(rank) if i != axis + 1), axis + 1])


def _windows(f: Call, count: Form, size: int) -> Value:
    return iota(f, count).unsqueeze([1]) * f.step + iota(f, size)


def unfold_backward(f: Call, e: Builder) -> Value:
    """Add the windows at their positions."""
    if not f.shape:
        return f.grad_in.squeeze([0])
    axis: int = f.dim % len(f.shape)
    g: Value = f.grad_in
    count, size = sizes(g)[axis], f.size
    rank = g.rank
    merged = permute_axes(g, [*range(axis + 1), rank - 1, *range(axis + 1, rank - 1)])
    merged = reshape_to(f, merged, _with_size(f.shape, axis, count * size))
    rows = merged.transpose(front(rank - 1, axis)) if axis else merged
    zeros = f.full(0, [f.shape[i] for i in front(rank - 1, axis)], f.dtype)
    places = reshape_to(f, _windows(f, count, size), (count * size,)).unsqueeze([1])
    found = zeros.apply(onnx.ScatterNDOp, places, rows, reduction="add")
    return found.transpose(back(rank - 1, axis)) if axis else found


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "constant_pad_nd.default": pad,
        "slice_backward.default": slice_backward,
        "select_backward.default": select_backward,
        "slice_scatter.default": slice_scatter,
        "select_scatter.default": select_scatter,
        "diagonal.default": diagonal,
        "diagonal_backward.default": diagonal_backward,
        "diagonal_scatter.default": diagonal_scatter,
        "diag_embed.default": diag_embed,
        "tril.default": triangle(upper=False),
        "triu.default": triangle(upper=True),
        "unfold.default": unfold,
        "unfold_backward.default": unfold_backward,
    }
)
