"""Conditions under which an ONNX op returns its first operand unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dialects.onnx.call import Call, axes_of
from dialects.onnx.dims import TO_THE_END, ints, slice_bounds
from dialects.onnx.infer.rules import infer
from dialects.support import shapes


def _always(call: Call) -> bool:
    """Equal types suffice."""
    return True


def _fully_named(call: Call) -> bool:
    """Equal types imply equal shapes if every dim is a size or a name."""
    return None not in call.operand(0).shape


def _keeps_sizes(call: Call) -> bool:
    """Return whether the inferred result shape, not the declared one, is the first operand's."""
    return infers_shape(call, call.operand(0).shape)


def infers_shape(call: Call, shape: shapes.Shape) -> bool:
    """Return whether the inferred result shape is `shape`."""
    return None not in shape and infer(call) == [shape]


def _one_unknown(call: Call) -> bool:
    """Accept equal types if at most one dim is unknown, and the others are then positive numbers."""
    shape = call.operand(0).shape
    rest = [dim for dim in shape if dim is not None]
    static = all(isinstance(dim, int) and dim > 0 for dim in rest)
    return len(rest) == len(shape) or (len(rest) == len(shape) - 1 and static)


def _one_operand(call: Call) -> bool:
    return len(call.operands) == 1


def _identity_transpose(call: Call) -> bool:
    return perm_of(call) == list(range(call.operand(0).rank))


def perm_of(call: Call) -> list[int]:
    return list(call.attribute("perm", reversed(range(call.operand(0).rank))))


def _zero_pad(call: Call) -> bool:
    pads = ints(call.operand(1).dims)
    return pads is not None and not any(pads)


def _ones(call: Call) -> bool:
    if _keeps_sizes(call):
        return True  # repeating an empty axis changes nothing
    repeats = ints(call.operand(1).dims)
    return repeats is not None and all(repeat == 1 for repeat in repeats)


def _is_full_gather(call: Call) -> bool:
    """Return whether a Gather takes every index in order."""
    axis: int = call.attribute("axis", 0)
    dim = call.operand(0).shape[axis]
    return isinstance(dim, int) and ints(call.operand(1).dims) == list(range(dim))


def _same_sizes(call: Call) -> bool:
    """Accept a Resize by sizes; scales may shift coordinates even if the sizes are equal."""
    cropping = call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    return call.optional(3) is not None and not cropping and _fully_named(call)


def _full_slice(call: Call) -> bool:
    data, starts, ends = call.operand(0), ints(call.operand(1).dims), ints(call.operand(2).dims)
    steps = _elements(call, 4, [1])
    if steps is not None and min(steps, default=1) > 0 and _keeps_sizes(call):
        return True  # a positive step that keeps the size takes every index
    if starts is None or ends is None:
        return False
    axes = _elements(call, 3, range(len(starts)))
    steps = _elements(call, 4, [1] * len(starts))
    if axes is None or steps is None:
        return False
    taken = zip(axes_of(axes, data.rank), starts, ends, steps, strict=True)
    return all(_is_full(data.shape[axis], *bounds) for axis, *bounds in taken)


def _elements(call: Call, index: int, default: Sequence[int]) -> list[int] | None:
    given = call.optional(index)
    return list(default) if given is None else ints(given.dims)


def _is_full(dim: shapes.Dim, start: int, end: int, step: int) -> bool:
    if not isinstance(dim, int):
        return start == 0 and step == 1 and end >= TO_THE_END
    return slice_bounds(dim, start, end, step) == (0, dim, 1)


IDENTITIES: dict[str, Callable[[Call], bool]] = {
    "onnx.Cast": _always,
    "onnx.Clip": _one_operand,
    "onnx.Concat": _one_operand,
    "onnx.Expand": _fully_named,
    "onnx.Gather": _is_full_gather,
    "onnx.Identity": _always,
    "onnx.Pad": _zero_pad,
    "onnx.Reshape": _one_unknown,
    "onnx.Resize": _same_sizes,
    "onnx.Slice": _full_slice,
    "onnx.Tile": _ones,
    "onnx.Transpose": _identity_transpose,
}
"""Op -> whether it returns its operand, given that operand and result have the same type."""
