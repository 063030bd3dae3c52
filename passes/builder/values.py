"""Values with arithmetic: `g * (1 - y * y)` creates three ONNX ops, so that rules read like formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import UNROUNDED, OnnxOp
from dialects.support.dtypes import HALVES, of_mlir, of_numpy
from dialects.support.interfaces import set_type
from dialects.support.shapes import (
    Dim,
    Shape,
    element_type_of,
    has_rank,
    merge,
    shape_of,
    static_shape,
    tensor_type,
)
from passes.builder.op_builder import OpBuilder

MASK = "gradc.mask"
"""Attribute of a 0/1 mask that a rule multiplies by, as opposed to a mask of the model."""

SUM = "gradc.sum"
"""Attribute of a sum that a rule creates, as opposed to a sum of the model."""

EXPONENTIAL = "gradc.exponential"
"""Attribute of an exponential of a formula; a constant factor may be moved into its argument."""


@dataclass
class Builder:
    """Creates constants and sizes as values; equal scalars and int64 vectors are one op. `emit` has the ops.

    `strict_ieee`: select with Where instead of multiplying by a mask, as 0 * inf is NaN.
    """

    emit: OpBuilder = field(default_factory=OpBuilder)
    strict_ieee: bool = False
    _scalars: dict[tuple[float, Attribute], SSAValue] = field(default_factory=dict)

    def __call__(self, value: SSAValue) -> Value:
        return Value(self, value)

    def scalar(self, value: float, like: Value) -> Value:
        """Return a rank-0 constant with the dtype of `like`."""
        return self.number(value, like.dtype)

    def number(self, value: float, dtype: Attribute) -> Value:
        """Return a rank-0 constant. Raises TypeError for a fraction with an integer dtype."""
        key = (float(value), dtype)
        if key not in self._scalars:
            self._scalars[key] = self._number(value, dtype)
        return self(self._scalars[key])

    def _number(self, value: float, type_: Attribute) -> SSAValue:
        dtype = of_mlir(type_)
        assert dtype is not None
        if dtype.numpy.kind in "iub" and value != int(value):
            raise TypeError(f"a value of dtype {dtype.name} with the number {value}")
        number = np.array(value, dtype.numpy)
        if dtype.name not in HALVES or float(number) == value or math.isnan(value):
            return self.emit.constant(number)
        cast = onnx.CastOp(self.emit.constant(np.array(value, np.float32)), to=type_)
        cast.attributes[UNROUNDED] = UnitAttr()
        return self.emit(cast)

    def constant(self, array: np.ndarray, like: Value | None = None) -> Value:
        """Return a constant of the array's shape, with its dtype or that of `like`.

        Raises TypeError for a dtype that ONNX lacks.
        """
        dtype = of_numpy(array.dtype) if like is None else of_mlir(like.dtype)
        if dtype is None:
            raise TypeError(f"an array of dtype {array.dtype}, which ONNX lacks")
        return self(self.emit.constant(array.astype(dtype.numpy, copy=False)))

    def ints(self, values: Sequence[int]) -> Value:
        """Return an int64 vector constant; equal ones are one op."""
        return self(self.emit.ints(values))

    def shape(self, like: Value) -> Value:
        """Return the shape of a value as int64 vector, a constant if it is static."""
        known = static_shape(like.value) if has_rank(like.value) else None
        return like.apply(onnx.ShapeOp) if known is None else self.ints(known)

    def fill_like(self, value: float, like: Value) -> Value:
        """Return a tensor filled with one number, with the shape and dtype of `like`."""
        scalar = self.scalar(value, like)
        is_scalar = has_rank(like.value) and not shape_of(like.value)
        return scalar if is_scalar else scalar.apply(onnx.ExpandOp, self.shape(like))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Concatenate at least one value along an axis."""
        return self(self.emit(onnx.ConcatOp([value.value for value in values], axis=axis)))

    def keep(self, value: Value, condition: Value) -> Value:
        """Return the value where a condition of its shape holds, else 0."""
        if self.strict_ieee:
            return condition.where(value, 0)
        mask = condition.cast(value.dtype)
        if isinstance(mask.value.owner, onnx.CastOp):
            mask.value.owner.attributes[MASK] = UnitAttr()
        return value * mask


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph under construction, whose operators create ops.

    Arithmetic and comparisons are elementwise and broadcast; Python numbers become scalar constants of its
    dtype. An index `x[...]` has ints, slices with steps, `...` and None, as in numpy. `a == b` compares
    identity: use `equals`.
    """

    e: Builder
    value: SSAValue

    @property
    def dtype(self) -> Attribute:
        """Element type, which prints as f32, f16, i64 ...; equal for values of equal dtypes."""
        return element_type_of(self.value)

    @property
    def shape(self) -> Shape:
        """Sizes of the axes: ints, or symbols for dynamic sizes. Raises GradcError if the rank is unknown."""
        return shape_of(self.value)

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def size(self, axis: int) -> Operand:
        """Return the size of an axis: a number, or a scalar of this dtype for a dynamic size."""
        size = self.shape[axis]
        if isinstance(size, int):
            return float(size)
        return self.e(self.e.emit.sizes(self.value, [axis])).squeeze([0]).cast(self.dtype)

    def __bool__(self) -> NoReturn:
        raise TypeError("a Value has no truth value while the graph is built; use where()")

    __iter__ = None

    def __getitem__(self, index: Any) -> Value:
        entries = cast(tuple[Any, ...], index if isinstance(index, tuple) else (index,))
        rest = self.rank - sum(entry is not None and entry is not ... for entry in entries)
        if rest < 0 or sum(entry is ... for entry in entries) > 1:
            raise IndexError(f"index {index} of a value of rank {self.rank}")
        whole = (slice(None),) * rest
        at = next((i for i, entry in enumerate(entries) if entry is ...), len(entries))
        return self._take((*entries[:at], *whole, *entries[at + 1 :]))

    def _take(self, entries: Sequence[Any]) -> Value:
        """Index all axes by ints and slices; None inserts an axis."""
        given = [entry for entry in entries if entry is not None]
        parts = [(axis, *_bounds(entry, self.shape[axis])) for axis, entry in enumerate(given)]
        taken = [part for part in parts if part[1:] != (0, _LAST, 1)]
        found = self
        if taken:
            axes, starts, ends, steps = (self.e.ints(column) for column in zip(*taken, strict=True))
            found = self.apply(onnx.SliceOp, starts, ends, axes, steps)
        if picked := [axis for axis, entry in enumerate(given) if not isinstance(entry, slice)]:
            found = found.apply(onnx.SqueezeOp, self.e.ints(picked))
        kept = [entry for entry in entries if entry is None or isinstance(entry, slice)]
        added = [axis for axis, entry in enumerate(kept) if entry is None]
        return found.apply(onnx.UnsqueezeOp, self.e.ints(added)) if added else found

    def assume_shape(self, shape: Sequence[Dim]) -> Value:
        """Refine the type of this value by a shape that its op cannot infer."""
        made = self.value.owner
        if isinstance(made, Operation) and made.parent is None:  # new: nobody else's type changes
            known = merge(shape, self.shape) if has_rank(self.value) else shape
            set_type(self.value, tensor_type(self.dtype, known))
        return self

    def apply(self, op: type[OnnxOp], *others: Operand | None, **attributes: Any) -> Value:
        """Create an ONNX op with this value as first operand; return the first result."""
        given = [None if other is None else self._operand(other).value for other in others]
        return self.e(self.e.emit(op(self.value, *given, **attributes)))

    def _operand(self, other: Operand) -> Value:
        return other if isinstance(other, Value) else self.e.scalar(other, self)

    def _swap_operands(self, op: type[OnnxOp], other: Operand) -> Value:
        return self._operand(other).apply(op, self)

    def __add__(self, other: Operand) -> Value:
        return self.apply(onnx.AddOp, other)

    def __radd__(self, other: float) -> Value:
        return self._swap_operands(onnx.AddOp, other)

    def __sub__(self, other: Operand) -> Value:
        return self.apply(onnx.SubOp, other)

    def __rsub__(self, other: float) -> Value:
        return self._swap_operands(onnx.SubOp, other)

    def __mul__(self, other: Operand) -> Value:
        return self.apply(onnx.MulOp, other)

    def __rmul__(self, other: float) -> Value:
        return self._swap_operands(onnx.MulOp, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.apply(onnx.DivOp, other)

    def __rtruediv__(self, other: float) -> Value:
        return self._swap_operands(onnx.DivOp, other)

    def __matmul__(self, other: Value) -> Value:
        return self.apply(onnx.MatMulOp, other)

    def __pow__(self, other: Operand) -> Value:
        return self.apply(onnx.PowOp, other)

    def __neg__(self) -> Value:
        return self.apply(onnx.NegOp)

    def __gt__(self, other: Operand) -> Value:
        return self.apply(onnx.GreaterOp, other)

    def __ge__(self, other: Operand) -> Value:
        return self.apply(onnx.GreaterOrEqualOp, other)

    def __lt__(self, other: Operand) -> Value:
        return self.apply(onnx.LessOp, other)

    def __le__(self, other: Operand) -> Value:
        return self.apply(onnx.LessOrEqualOp, other)

    def __and__(self, other: Value) -> Value:
        return self.apply(onnx.AndOp, other)

    def equals(self, other: Operand) -> Value:
        """Compare elementwise."""
        return self.apply(onnx.EqualOp, other)

    def square(self) -> Value:
        """Return x * x."""
        return self * self

    def cast(self, to: Attribute) -> Value:
        """Cast to another dtype. A Cast of a comparison is marked with `MASK`."""
        if to == self.dtype:
            return self
        cast = onnx.CastOp(self.value, to=to)
        if isinstance(self.value.owner, onnx.GreaterOp | onnx.LessOp):
            cast.attributes[MASK] = UnitAttr()
        return self.e(self.e.emit(cast))

    def sum_axes(self, axes: Sequence[int], keepdims: int = 0) -> Value:
        """Sum along at least one axis; `keepdims=1` keeps the axes with size 1."""
        total = onnx.ReduceSumOp(self.value, self.e.ints(axes).value, keepdims=keepdims)
        total.attributes[SUM] = UnitAttr()
        return self.e(self.e.emit(total))

    def transpose(self, perm: Sequence[int]) -> Value:
        """Permute the axes: axis i of the result is axis `perm[i]`."""
        return self.apply(onnx.TransposeOp, perm=perm)

    def swap_last_axes(self) -> Value:
        """Swap the last two axes."""
        *batch, row, column = range(self.rank)
        return self.transpose([*batch, column, row])

    def unsqueeze(self, axes: Sequence[int]) -> Value:
        """Insert axes of size 1, numbered as in the result."""
        return self.apply(onnx.UnsqueezeOp, self.e.ints(axes))

    def squeeze(self, axes: Sequence[int]) -> Value:
        """Remove axes of size 1."""
        return self.apply(onnx.SqueezeOp, self.e.ints(axes))

    def as_int64(self) -> Value:
        return self.cast(i64)

    def where(self, yes: Value, no: Operand) -> Value:
        """Select elementwise between `yes` and `no` by this condition, a boolean value."""
        other = no if isinstance(no, Value) else self.e.scalar(no, yes)
        return self.apply(onnx.WhereOp, yes, other)

    def at_least(self, low: Operand) -> Value:
        """Return the elementwise maximum with `low`."""
        return self.e(self.e.emit(onnx.MaxOp([self.value, self._operand(low).value])))

    def at_most(self, high: Operand) -> Value:
        """Return the elementwise minimum with `high`."""
        return self.e(self.e.emit(onnx.MinOp([self.value, self._operand(high).value])))

    def clip_to(self, low: float, high: float) -> Value:
        """Clip to the interval [low, high]."""
        return self.apply(onnx.ClipOp, low, high)

    def abs(self) -> Value:
        """Return |x|."""
        return self.apply(onnx.AbsOp)

    def exp(self) -> Value:
        """Return e to the power x."""
        return self.apply(onnx.ExpOp)

    def exp_times(self, factor: float) -> Value:
        """Return exp(x) times a positive number, marked with `EXPONENTIAL`."""
        made = self.exp()
        assert isinstance(made.value.owner, onnx.ExpOp)
        made.value.owner.attributes[EXPONENTIAL] = UnitAttr()
        return made * factor

    def log(self) -> Value:
        """Return the natural logarithm."""
        return self.apply(onnx.LogOp)

    def sqrt(self) -> Value:
        """Return the square root."""
        return self.apply(onnx.SqrtOp)

    def erf(self) -> Value:
        """Return the error function."""
        return self.apply(onnx.ErfOp)

    def tanh(self) -> Value:
        """Return the hyperbolic tangent."""
        return self.apply(onnx.TanhOp)

    def sigmoid(self) -> Value:
        """Return 1 / (1 + e^-x)."""
        return self.apply(onnx.SigmoidOp)

    def softplus(self) -> Value:
        """Return log(1 + e^x)."""
        return self.apply(onnx.SoftplusOp)

    def sign(self) -> Value:
        """Return -1, 0 or 1."""
        return self.apply(onnx.SignOp)


Operand: TypeAlias = Value | float

_LAST = 2**63 - 1


def _bounds(entry: Any, size: Dim) -> tuple[int, int, int]:
    """Return start, end and step of the Slice for an index of one axis.

    Raises IndexError for an int out of range, TypeError for an index that is not an int or a slice of ints.
    """
    if isinstance(entry, slice):
        start, stop, step = cast(tuple[Any, Any, Any], (entry.start, entry.stop, entry.step))
        if not all(part is None or isinstance(part, int) for part in (start, stop, step)) or step == 0:
            raise TypeError(f"index {entry}: its parts are ints, and the step is not 0")
        step = step or 1
        first, last = (0, _LAST) if step > 0 else (_LAST, -_LAST)
        return first if start is None else start, last if stop is None else stop, step
    if not isinstance(entry, int) or isinstance(entry, bool):
        raise TypeError(f"an index of type {type(entry).__name__}; ops.Gather takes values")
    if isinstance(size, int) and not -size <= entry < size:
        raise IndexError(f"index {entry} of an axis of size {size}")
    return entry, entry + 1 or _LAST, 1
