"""What is known of a value's contents at compile time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i32, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from dialects.onnx.dims import slice_bounds
from dialects.support import shapes
from dialects.support.dense import to_numpy
from dialects.support.memo import by_identity
from dialects.support.shapes import Dim

Dims = tuple[Dim, ...]

MOST_DIMS = 64
"""Vectors longer than this are data, not sizes."""

DEEPEST = 32
"""How many ops a size is followed through; a longer chain only makes the size unknown."""


def constant_of(value: SSAValue) -> np.ndarray | None:
    """The array of an `onnx.Constant` or `arith.constant` tensor, as a view; None for any other."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name not in ("onnx.Constant", "arith.constant"):
        return None
    found = owner.properties.get("value")
    return to_numpy(found) if isinstance(found, DenseIntOrFPElementsAttr) else None


def dims_of(value: SSAValue) -> Dims | None:
    """The elements of an integer scalar or vector of static length, each as far as it is known.

    None for a tensor of another rank, type or length.
    """
    return Walk({}, DEEPEST).dims_of(value)


@dataclass(frozen=True)
class Walk:
    """One look backwards through the graph; `seen` keeps a shared operand from being followed twice."""

    seen: dict[SSAValue, Dims | None]
    left: int

    def dims_of(self, value: SSAValue) -> Dims | None:
        if value not in self.seen:
            self.seen[value] = self._follow(value)
        return self.seen[value]

    def _follow(self, value: SSAValue) -> Dims | None:
        length = _length(value.type)
        if length is None:
            return None
        constant = constant_of(value)
        if constant is not None:
            return tuple(int(x) for x in constant.reshape(-1))
        owner = value.owner if isinstance(value, OpResult) else None
        rule = _RULES.get(owner.name) if owner is not None else None
        if owner is None or rule is None or self.left == 0:
            return (None,) * length
        found = rule(owner, Walk(self.seen, self.left - 1))
        if found is None or len(found) != length:
            return (None,) * length
        return tuple(dim if _fits(dim, value) else None for dim in found)


@by_identity
def _length(type_: Attribute) -> int | None:
    if not isinstance(type_, TensorType) or type_.element_type not in (i64, i32):
        return None
    shape = shapes.static(shapes.shape_of(type_))
    if shape is None or len(shape) > 1:
        return None
    length = shape[0] if shape else 1
    return length if length <= MOST_DIMS else None


def _fits(dim: Dim, value: SSAValue) -> bool:
    """Whether an element is no number that integer arithmetic would wrap around."""
    bits = 64 if shapes.element_type_of(value) == i64 else 32
    return not isinstance(dim, int) or -(2 ** (bits - 1)) <= dim < 2 ** (bits - 1)


Rule = Callable[[Operation, Walk], Dims | None]


def _shape(op: Operation, walk: Walk) -> Dims | None:
    shape = shapes.shape_of(op.operands[0])
    start, end = _int(op, "start", 0), _int(op, "end", len(shape))
    return shape[slice(start, end)]


def _same(op: Operation, walk: Walk) -> Dims | None:
    """Identity, integer Cast, and changes of rank between scalar and vector."""
    return walk.dims_of(op.operands[0])


def _concat(op: Operation, walk: Walk) -> Dims | None:
    parts = [walk.dims_of(operand) for operand in op.operands]
    return tuple(dim for part in parts if part is not None for dim in part)


def _gather(op: Operation, walk: Walk) -> Dims | None:
    data, indices = walk.dims_of(op.operands[0]), walk.dims_of(op.operands[1])
    if data is None or indices is None:
        return None
    return tuple(_at(data, index) for index in indices)


def _at(dims: Dims, index: Dim) -> Dim:
    if not isinstance(index, int) or not -len(dims) <= index < len(dims):
        return None
    return dims[index]


def _slice(op: Operation, walk: Walk) -> Dims | None:
    data, *bounds = (walk.dims_of(operand) for operand in op.operands)
    if data is None or len(op.operands) not in (3, 5):
        return None
    starts, ends, *rest = bounds
    steps = rest[1] if rest else (1,)
    if not starts or not ends or not steps:
        return None
    start, end, step = starts[0], ends[0], steps[0]
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)) or step == 0:
        return None
    return tuple(data[i] for i in range(*slice_bounds(len(data), start, end, step)))


def _arithmetic(function: Callable[[int, int], int | None]) -> Rule:
    def rule(op: Operation, walk: Walk) -> Dims | None:
        a, b = (walk.dims_of(operand) for operand in op.operands)
        if a is None or b is None:
            return None
        length = max(len(a), len(b)) if len(a) and len(b) else 0
        a, b = (x * length if len(x) == 1 else x for x in (a, b))
        return tuple(
            function(x, y) if isinstance(x, int) and isinstance(y, int) else None
            for x, y in zip(a, b, strict=True)
        )

    return rule


def _divide(a: int, b: int) -> int | None:
    """ONNX's integer division, which truncates."""
    if b == 0:
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _int(op: Operation, name: str, default: int) -> int:
    found = op.properties.get(name)
    return int(found.value.data) if found is not None else default  # pyright: ignore


_RULES: dict[str, Rule] = {
    "onnx.Shape": _shape,
    "onnx.Identity": _same,
    "onnx.Cast": _same,
    "onnx.Squeeze": _same,
    "onnx.Unsqueeze": _same,
    "onnx.Reshape": _same,
    "onnx.Concat": _concat,
    "onnx.Gather": _gather,
    "onnx.Slice": _slice,
    "onnx.Add": _arithmetic(lambda a, b: a + b),
    "onnx.Sub": _arithmetic(lambda a, b: a - b),
    "onnx.Mul": _arithmetic(lambda a, b: a * b),
    "onnx.Div": _arithmetic(_divide),
}
