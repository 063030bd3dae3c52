"""The new axis of a vectorization, and an op whose operands may have it: the interface of batching rules.

    rule(f, b) -> one value per result, or None if the rule does not cover this use of the op

`f` is the op with its operands, `b` creates ops on values that have the new axis, which is axis 0. A result
is a value with the axis, or `Unbatched`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.signature import OPTIONAL, SINGLE
from dialects.onnx.values import constant_of
from dialects.support.attributes import documented_attributes
from dialects.support.documented_op import DocumentedOp, build
from dialects.support.shapes import Dim, Shape, has_rank, shape_of
from passes.builder.tensors import Size
from passes.builder.values import Builder, Value


@dataclass(frozen=True)
class Operand:
    """An operand: a value with the new axis if `batched`, and the type of one row."""

    value: Value
    batched: bool
    row: Attribute

    @property
    def shape(self) -> Shape:
        """The shape of a row."""
        return shape_of(self.row)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def has_rank(self) -> bool:
        return has_rank(self.row)

    @property
    def is_empty_sequence(self) -> bool:
        return isinstance(self.value.value.owner, onnx.SequenceEmptyOp)

    @property
    def constant(self) -> np.ndarray | None:
        return None if self.batched else constant_of(self.value.value)


@dataclass(frozen=True)
class Unbatched:
    """A result that does not depend on the row."""

    value: Value


Result: TypeAlias = Value | Unbatched


@dataclass(frozen=True)
class OpCall:
    """An op of which at least one operand is batched; `operands` are in the order of its schema."""

    op: Operation
    operands: Sequence[Operand | None]

    @property
    def name(self) -> str:
        """The op's ONNX name, or its full name in another dialect."""
        return self.op.name.removeprefix("onnx.")

    @property
    def present(self) -> list[Operand]:
        return [x for x in self.operands if x is not None]

    def operand(self, index: int) -> Operand | None:
        return self.operands[index] if index < len(self.operands) else None

    def only_batched(self, *positions: int) -> bool:
        """Return whether no operand at another position is batched."""
        return all(i in positions for i, x in enumerate(self.operands) if x is not None and x.batched)

    @property
    def attributes(self) -> dict[str, Any]:
        """The given attributes as Python values."""
        if isinstance(self.op, OnnxOp):
            return dict(self.op.onnx_attributes())
        assert isinstance(self.op, DocumentedOp)
        return {n: self.op.value(n) for n in documented_attributes(type(self.op)) if self.op.is_given(n)}

    def value(self, name: str, default: Any) -> Any:
        return self.attributes.get(name, default)

    def again(self, b: Batch, operands: Sequence[Value | None], **changes: Any) -> list[Value]:
        """Create the op with other operands, and its attributes but for `changes`."""
        given = [None if x is None else x.value for x in operands]
        attributes = {**self.attributes, **changes}
        if isinstance(self.op, OnnxOp):
            made: Operation = _onnx_op(self.op, given, attributes)
        else:
            assert isinstance(self.op, DocumentedOp)
            made = build(type(self.op), [x for x in given if x is not None], attributes)
        made.attributes |= self.op.attributes
        return list(map(b.e, b.e.emit.all(made)))

    def along(self, b: Batch, **changes: Any) -> list[Value]:
        """Create the op with its operands as they are, and its attributes but for `changes`."""
        return self.again(b, [None if x is None else x.value for x in self.operands], **changes)

    def along_others(self, b: Batch, first: Sequence[Value | None]) -> list[Value]:
        """Create the op with other first operands, and the rest as they are."""
        others = [None if x is None else x.value for x in self.operands[len(first) :]]
        return self.again(b, [*first, *others])


BatchingRule: TypeAlias = Callable[["OpCall", "Batch"], Sequence[Result] | None]


def _onnx_op(op: OnnxOp, operands: Sequence[SSAValue | None], attributes: dict[str, Any]) -> OnnxOp:
    ports = type(op).SIGNATURE.operands
    fixed = sum(port.option in (SINGLE, OPTIONAL) for port in ports)
    groups: list[Any] = list(operands[:fixed])
    if fixed < len(ports):
        groups.append(list(operands[fixed:]))
    return type(op)(*groups, results=len(op.results), **attributes)


@dataclass(frozen=True)
class Batch:
    """The new axis, and the builder of the ops of one batching rule."""

    e: Builder
    size: Size
    dim: Dim

    def vector(self, sizes: Sequence[Size]) -> Value:
        """Return sizes as an int64 vector."""
        if all(isinstance(size, int) for size in sizes):
            return self.e.ints([size for size in sizes if isinstance(size, int)])
        parts = [self.e.emit.ints([size]) if isinstance(size, int) else size for size in sizes]
        return self.e(parts[0] if len(parts) == 1 else self.e.emit.concat(parts))

    def sizes(self, value: Value) -> list[Size]:
        """Return the sizes of all axes of a value; the first is that of the new axis if it has that type."""
        emit = self.e.emit
        found: list[Size] = []
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, int):
                found.append(dim)
            else:
                found.append(self.size if dim == self.dim else emit.sizes(value.value, [axis]))
        return found

    def product(self, sizes: Sequence[Size]) -> Size:
        known = math.prod(size for size in sizes if isinstance(size, int))
        unknown = [size for size in sizes if not isinstance(size, int)]
        if not unknown or known == 0:
            return known
        total = reduce(self.e.emit.mul, unknown)
        return total if known == 1 else self.e.emit.mul(total, self.e.emit.ints([known]))

    def reshape(self, value: Value, sizes: Sequence[Size]) -> Value:
        """Reshape to sizes of which some may be dynamic; a size of 0 is that."""
        known = [size for size in sizes if isinstance(size, int)]
        if len(known) == len(sizes) and tuple(known) == value.shape:
            return value
        if len(sizes) - len(known) <= 1 and 0 not in known:
            shape = self.e.ints([size if isinstance(size, int) else -1 for size in sizes])
            return value.apply(onnx.ReshapeOp, shape)
        return value.apply(onnx.ReshapeOp, self.vector(sizes), allowzero=1)

    def expand(self, x: Operand) -> Value:
        """Return the operand with the new axis, repeated along it if it is not batched."""
        if x.batched or x.is_empty_sequence:
            return x.value
        found = x.value.apply(onnx.ExpandOp, self.vector([self.size, *[1] * x.rank]))
        return found.assume_shape((self.dim, *x.shape))

    def align(self, x: Operand, rank: int) -> Value:
        """Return the operand such that it broadcasts with batched values whose rows have a rank; an unbatched
        one is left as it is."""
        missing = rank - x.rank
        if not x.batched or missing <= 0:
            return x.value
        return x.value.unsqueeze(range(1, 1 + missing))

    def fold(self, value: Value, axis: int = 0) -> Value:
        """Merge the new axis into an axis of the rows."""
        moved, sizes = self.move(value, 0, axis), self.sizes(value)[1:]
        sizes[axis] = self.product([self.size, sizes[axis]])
        return self.reshape(moved, sizes)

    def unfold(self, value: Value, count: Size, axis: int = 0) -> Value:
        """Split an axis into the new axis and one of `count`, which stay where they are."""
        sizes = self.sizes(value)
        return self.reshape(value, [*sizes[:axis], self.size, count, *sizes[axis + 1 :]])

    def transpose(self, value: Value, perm: Sequence[int]) -> Value:
        if list(perm) == list(range(len(perm))):
            return value
        return value.transpose(list(perm))

    def move(self, value: Value, source: int, target: int) -> Value:
        """Move an axis."""
        order = [axis for axis in range(value.rank) if axis != source]
        order.insert(target, source)
        return self.transpose(value, order)

    def row_sizes(self, x: Operand) -> Value:
        """Return the shape of a row of a batched operand."""
        if x.has_rank:
            return self.vector(self.sizes(x.value)[1:])
        whole = x.value.apply(onnx.ShapeOp)
        ends = (self.e.ints([number]) for number in (1, 2**31 - 1))
        return whole.apply(onnx.SliceOp, *ends)

    def row_zeros(self, x: Operand) -> Value:
        """Return zeros of the shape and dtype of a row."""
        return self.e.scalar(0, x.value).apply(onnx.ExpandOp, self.row_sizes(x))

    def numbers(self) -> Value:
        """Return 0, 1, ... of one row each, as int64 vector."""
        if isinstance(self.size, int):
            return self.e.ints(range(self.size))
        zero, one = (self.e(self.e.emit.constant(np.array(number, np.int64))) for number in (0, 1))
        count = self.e(self.size).squeeze([0])
        return zero.apply(onnx.RangeOp, count, one)
