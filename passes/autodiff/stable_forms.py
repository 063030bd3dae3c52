"""Rewrite composed functions to numerically stable ops before differentiation.

`Log(Sigmoid(x))` is -x for large negative x, but Sigmoid rounds to 0 first: the value becomes -inf and the
derivative 0 / 0. The patterns:
    1 / (1 + Exp(-x))            Sigmoid(x)
    (E - 1) / (E + 1)            Tanh(t / 2), E = Exp(t)
    (E - F) / (E + F)            Tanh((s - t) / 2), E = Exp(s), F = Exp(t)
    Exp(x) / ReduceSum(Exp(x))   Softmax(x)
    x - ReduceLogSumExp(x)       LogSoftmax(x)
    Log(v)                       the entry of `LOGARITHMS` for the op that defines v

Logarithms are distributed over products, quotients, sums of exponentials, Where and data movement if one part
has an entry. Expressions that cannot overflow or round to 0 are unchanged.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.compositions import (
    Opaque,
    constant_axes,
    is_at_most_zero,
    keeps_dims,
    negative,
    uniform_number,
)
from passes.autodiff.logarithms import Logarithms
from passes.builder.rewriting import replace, rewrite
from passes.builder.values import Builder, Value

DEEPEST = 8
"""Limit on the depth of a matched composition."""


def use_stable_forms(module: ModuleOp, kept: Collection[SSAValue], names: Collection[str] = ()) -> bool:
    """Rewrite the compositions in a module; return whether it changed.

    No pattern crosses a value of `kept` (the differentiated values), nor an op of `names` (user-defined
    rules).
    """
    opaque = Opaque(frozenset(kept), frozenset(names))
    changed = rewrite(module, [StableQuotient(opaque)], (onnx.DivOp, onnx.ReciprocalOp))
    changed |= rewrite(module, [StableProduct(opaque)], (onnx.MulOp,))
    changed |= rewrite(module, [StableLogarithm(opaque)], (onnx.LogOp,))
    return rewrite(module, [StableDifference(opaque)], (onnx.SubOp,)) or changed


@dataclass(frozen=True)
class _Stable(RewritePattern):
    opaque: Opaque

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if self.opaque.excludes(op) or not self.opaque.values.isdisjoint(op.results):
            return
        e = Builder()
        found = self.form(op, e)
        if found is None or not _is_of_type(found, op.results[0]):
            e.emit.discard()
            return
        replace(op, rewriter, e.emit, [found.value])

    def form(self, op: Operation, e: Builder) -> Value | None:
        raise NotImplementedError


def _is_of_type(found: Value, result: SSAValue) -> bool:
    return has_rank(found.value) and has_rank(result) and found.rank == len(shape_of(result))


class StableQuotient(_Stable):
    """Sigmoid, Tanh and Softmax written as quotients of exponentials."""

    def form(self, op: Operation, e: Builder) -> Value | None:
        upper, lower = (None, op.operands[0]) if len(op.operands) == 1 else op.operands
        if upper is not None:
            found = self._tanh(upper, lower, e)
            found = self._softmax(upper, lower, e) if found is None else found
            if found is not None:
                return found
        t = self.opaque.one_plus_exponent(lower)
        if t is None or is_at_most_zero(t):
            return None
        if upper is not None and self.opaque.exponent(upper) is t:
            return e(t).sigmoid()
        complement = negative(e(t)).sigmoid()
        return complement if upper is None or uniform_number(upper, t) == 1 else e(upper) * complement

    def _tanh(self, upper: SSAValue, lower: SSAValue, e: Builder) -> Value | None:
        above, below = self.opaque.match_one_plus(upper), self.opaque.match_one_plus(lower)
        if above is not None and below is not None:
            t, is_sum = self.opaque.exponent(above[0]), below[1:] == (False, False)
            if t is None or above[0] is not below[0] or not is_sum or above[1] == above[2]:
                return None
            half = (e(t) * 0.5).tanh()
            return -half if above[1] else half
        differences, sums = self.opaque.terms(upper), self.opaque.terms(lower)
        if [term[1] for term in differences] != [False, True] or [term[1] for term in sums] != [False] * 2:
            return None
        (first, _), (second, _) = differences
        s, t = self.opaque.exponent(first), self.opaque.exponent(second)
        if s is None or t is None or {first, second} != {term for term, _ in sums}:
            return None
        if self.opaque.operand(t, onnx.NegOp) is s:
            return e(s).tanh()
        return ((e(s) - e(t)) * 0.5).tanh()

    def _softmax(self, upper: SSAValue, lower: SSAValue, e: Builder) -> Value | None:
        total, t = self.opaque.maker(lower), self.opaque.exponent(upper)
        if not isinstance(total, onnx.ReduceSumOp) or t is None or total.operands[0] is not upper:
            return None
        axes = constant_axes(total)
        if axes is None or len(axes) != 1 or not keeps_dims(total) or is_at_most_zero(t):
            return None
        return e(t).apply(onnx.SoftmaxOp, axis=axes[0])


class StableProduct(_Stable):
    """Exp(t) Sigmoid(-t), the rewritten Exp(t) (1 / (1 + Exp(t)))."""

    def form(self, op: Operation, e: Builder) -> Value | None:
        for one, other in (op.operands, op.operands[::-1]):
            t, inner = self.opaque.exponent(one), self.opaque.operand(other, onnx.SigmoidOp)
            if t is None or inner is None:
                continue
            if self.opaque.operand(inner, onnx.NegOp) is t or self.opaque.operand(t, onnx.NegOp) is inner:
                return e(t).sigmoid()
        return None


class StableDifference(_Stable):
    """LogSoftmax written as the difference of possibly large numbers."""

    def form(self, op: Operation, e: Builder) -> Value | None:
        x, total = op.operands[0], self.opaque.maker(op.operands[1])
        if not isinstance(total, onnx.ReduceLogSumExpOp) or total.operands[0] is not x:
            return None
        axes = constant_axes(total)
        if axes is None or len(axes) != 1 or not keeps_dims(total):
            return None
        return e(x).apply(onnx.LogSoftmaxOp, axis=axes[0])


class StableLogarithm(_Stable):
    """Logarithms of values that may round to 0 or overflow."""

    def form(self, op: Operation, e: Builder) -> Value | None:
        return Logarithms(self.opaque, e).of(op.operands[0], DEEPEST)
