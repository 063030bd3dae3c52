"""The builder of lowerings: new ops on SSA values in order, constants, and arithmetic on dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.dense import from_numpy
from dialects.support.memo import MEMO_SIZE
from dialects.support.shapes import element_type_of, shape_of


@dataclass
class OpBuilder:
    """Collects new ops in order: `y = emit(onnx.AddOp(a, b))` returns the op's first result.

    `emit.all` returns all results, of a Split for instance. The arithmetic is on int64 vectors of sizes.
    Static sizes go through the same ops, which `simplify` folds to constants. `narrow` is for runtimes with
    32-bit int64 and f32 division, see `div`.
    """

    ops: list[Operation] = field(default_factory=list)
    narrow: bool = False
    _vectors: dict[tuple[int, ...], OpResult] = field(default_factory=dict)

    def __call__(self, op: Operation) -> OpResult:
        return self.all(op)[0]

    def all(self, op: Operation) -> Sequence[OpResult]:
        self.ops.append(op)
        return op.results

    def constant(self, value: np.ndarray) -> OpResult:
        return self(onnx.ConstantOp(value))

    def ints(self, values: Sequence[int]) -> OpResult:
        """Return an int64 vector constant; equal ones are one op."""
        key = tuple(values)
        if key not in self._vectors:
            self._vectors[key] = self(onnx.ConstantOp(_ints(key)))
        return self._vectors[key]

    def discard(self) -> None:
        """Erase the ops, which are in no block yet: they count as readers of their operands."""
        for op in reversed(self.ops):
            op.erase()
        self.ops.clear()
        self._vectors.clear()

    def narrowed(self, narrow: bool) -> OpBuilder:
        """Return a builder with `narrow` that collects the ops in the same list."""
        return replace(self, narrow=narrow)

    def sizes(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Return the sizes of a tensor's axes."""
        shape = shape_of(value)
        known = [shape[axis] for axis in axes]
        if all(isinstance(dim, int) for dim in known):
            return self.ints([dim for dim in known if isinstance(dim, int)])
        return self.take(self(onnx.ShapeOp(value)), axes)

    def take(self, vector: SSAValue, indices: Sequence[int]) -> SSAValue:
        return self(onnx.GatherOp(vector, self.ints(indices), axis=0))

    def spread(self, vector: SSAValue, axes: Sequence[int], rank: int) -> SSAValue:
        """Scatter a vector with an entry for each of `axes` into one for all axes, 0 elsewhere."""
        first, count = axes[0], len(axes)
        if tuple(axes) == tuple(range(first, first + count)):
            around = (self.ints([0] * zeros) for zeros in (first, rank - first - count))
            return self.concat([next(around), vector, next(around)])
        extended = self.concat([vector, self.ints([0])])
        return self.take(extended, [axes.index(a) if a in axes else count for a in range(rank)])

    def as_int64(self, vector: SSAValue) -> SSAValue:
        if element_type_of(vector) == i64:
            return vector
        return self(onnx.CastOp(vector, to=i64))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(onnx.AddOp(a, b))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(onnx.SubOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(onnx.MulOp(a, b))

    def product(self, factors: Sequence[SSAValue]) -> SSAValue:
        return reduce(self.mul, factors) if factors else self.ints([1])

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Divide, rounding towards zero: a floor for nonnegative operands.

        With `narrow`, the floor for any dividend and b > 0, also if an f32 division is off by one (quotients
        below 2^22 of numbers below 2^31).
        """
        quotient = self(onnx.DivOp(a, b))
        return self._correct_quotient(a, b, quotient) if self.narrow else quotient

    def floordiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return the floor of a / b for any a and b > 0."""
        return self._correct_quotient(a, b, self(onnx.DivOp(a, b)))

    def _correct_quotient(self, a: SSAValue, b: SSAValue, quotient: SSAValue) -> SSAValue:
        """Adjust a quotient so that its remainder is in [0, b); comparing with 0 is exact in f32, too."""
        rest = self.sub(a, self.mul(quotient, b))
        zero = self.ints([0])
        above = self(onnx.GreaterOrEqualOp(self.sub(rest, b), zero))
        below = self(onnx.LessOp(rest, zero))
        ups, downs = (self(onnx.CastOp(found, to=i64)) for found in (above, below))
        return self.sub(self.add(quotient, ups), downs)

    def max(self, a: SSAValue, low: int) -> SSAValue:
        return self(onnx.MaxOp([a, self.constant(np.array([low], np.int64))]))

    def min(self, a: SSAValue, high: int) -> SSAValue:
        return self(onnx.MinOp([a, self.constant(np.array([high], np.int64))]))

    def concat(self, vectors: Sequence[SSAValue]) -> SSAValue:
        return self(onnx.ConcatOp(list(vectors), axis=0))


@lru_cache(MEMO_SIZE)
def _ints(values: tuple[int, ...]) -> DenseIntOrFPElementsAttr:
    return from_numpy(np.array(values, np.int64).reshape(len(values)))
