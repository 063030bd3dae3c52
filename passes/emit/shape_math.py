"""Arithmetic on run-time sizes, as int64 vectors in the graph.

Whatever is known at compile time folds away: sizes that types already know are emitted through the
same ops, and `simplify` makes constants of them.
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
from passes.emit.rewriting import Emitter


@dataclass
class ShapeMath:
    """`narrow` is for runtimes that keep 32 bits of an int64 and divide in f32: see `div`."""

    emit: Emitter
    narrow: bool = False

    def sizes(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The sizes of a tensor's axes."""
        shape = shape_of(value)
        known = [shape[axis] for axis in axes]
        if all(isinstance(dim, int) for dim in known):
            return self.emit.ints([dim for dim in known if isinstance(dim, int)])
        return self.take(self.emit(onnx.ShapeOp(value)), axes)

    def take(self, vector: SSAValue, indices: Sequence[int]) -> SSAValue:
        return self.emit(onnx.GatherOp(vector, self.emit.ints(indices), axis=0))

    def spread(self, vector: SSAValue, axes: Sequence[int], rank: int) -> SSAValue:
        """A vector with an entry for each of `axes` as one for all axes, 0 for the others."""
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
        """Rounds towards zero, so it is a floor for operands that are not negative.

        With `narrow`, it is a floor for every dividend and b > 0, right where a division in f32 is one off:
        for quotients below 2^22 of numbers below 2^31.
        """
        quotient = self.emit(onnx.DivOp(a, b))
        return self._corrected(a, b, quotient) if self.narrow else quotient

    def floordiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The floor for every dividend and b > 0."""
        return self._corrected(a, b, self.emit(onnx.DivOp(a, b)))

    def _corrected(self, a: SSAValue, b: SSAValue, quotient: SSAValue) -> SSAValue:
        """The quotient that leaves a rest in [0, b). Comparing with 0 is right in f32 as well."""
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
