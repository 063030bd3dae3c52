"""Arithmetic on dynamic sizes as int64 vectors in the graph.

Static sizes go through the same ops, which `simplify` folds to constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.rewriting import Builder


@dataclass
class ShapeMath:
    """Builder of size arithmetic; `narrow` is for runtimes with 32-bit int64 and f32 division, see `div`."""

    emit: Builder
    narrow: bool = False

    def sizes(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Return the sizes of a tensor's axes."""
        shape = shape_of(value)
        known = [shape[axis] for axis in axes]
        if all(isinstance(dim, int) for dim in known):
            return self.emit.ints([dim for dim in known if isinstance(dim, int)])
        return self.take(self.emit(onnx.ShapeOp(value)), axes)

    def take(self, vector: SSAValue, indices: Sequence[int]) -> SSAValue:
        return self.emit(onnx.GatherOp(vector, self.emit.ints(indices), axis=0))

    def spread(self, vector: SSAValue, axes: Sequence[int], rank: int) -> SSAValue:
        """Scatter a vector with an entry for each of `axes` into one for all axes, 0 elsewhere."""
        first, count = axes[0], len(axes)
        if tuple(axes) == tuple(range(first, first + count)):
            around = (self.vector([0] * zeros) for zeros in (first, rank - first - count))
            return self.concat([next(around), vector, next(around)])
        extended = self.concat([vector, self.vector([0])])
        return self.take(extended, [axes.index(a) if a in axes else count for a in range(rank)])

    def as_int64(self, vector: SSAValue) -> SSAValue:
        if element_type_of(vector) == i64:
            return vector
        return self.emit(onnx.CastOp(vector, to=i64))

    def vector(self, values: Sequence[int]) -> SSAValue:
        return self.emit.ints(values)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(onnx.AddOp(a, b))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(onnx.SubOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(onnx.MulOp(a, b))

    def product(self, factors: Sequence[SSAValue]) -> SSAValue:
        return reduce(self.mul, factors) if factors else self.vector([1])

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Divide, rounding towards zero: a floor for nonnegative operands.

        With `narrow`, the floor for any dividend and b > 0, also if an f32 division is off by one (quotients
        below 2^22 of numbers below 2^31).
        """
        quotient = self.emit(onnx.DivOp(a, b))
        return self._correct_quotient(a, b, quotient) if self.narrow else quotient

    def floordiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return the floor of a / b for any a and b > 0."""
        return self._correct_quotient(a, b, self.emit(onnx.DivOp(a, b)))

    def _correct_quotient(self, a: SSAValue, b: SSAValue, quotient: SSAValue) -> SSAValue:
        """Adjust a quotient so that its remainder is in [0, b); comparing with 0 is exact in f32, too."""
        rest = self.sub(a, self.mul(quotient, b))
        zero = self.vector([0])
        above = self.emit(onnx.GreaterOrEqualOp(self.sub(rest, b), zero))
        below = self.emit(onnx.LessOp(rest, zero))
        ups, downs = (self.emit(onnx.CastOp(found, to=i64)) for found in (above, below))
        return self.sub(self.add(quotient, ups), downs)

    def max(self, a: SSAValue, low: int) -> SSAValue:
        return self.emit(onnx.MaxOp([a, self.emit.constant(np.array([low], np.int64))]))

    def min(self, a: SSAValue, high: int) -> SSAValue:
        return self.emit(onnx.MinOp([a, self.emit.constant(np.array([high], np.int64))]))

    def concat(self, vectors: Sequence[SSAValue]) -> SSAValue:
        return self.emit(onnx.ConcatOp(list(vectors), axis=0))
