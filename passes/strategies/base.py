"""What a strategy is: one way to write one canonical gradient in plain ONNX.

A strategy sees only ops in a layout that it declares. An op in another layout is shown to it as its
variant in the first one, and what it writes stands between two Transposes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.grad.layout import LayoutOp
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support import layouts, limits
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import STRATEGY
from dialects.support.dtypes import name_of
from dialects.support.memo import the_same
from dialects.support.shapes import compatible, element_type_of, shape_of, show
from dialects.support.spelling import option
from passes.cost.work import Work, static_sizes
from passes.emit import budget
from passes.emit.budget import CompileTimeCost
from passes.emit.rewriting import Emitter, replace, rewrite
from passes.emit.templates import templates, write_templated
from passes.emit.tensors import context_of
from passes.kernels.target import Target, TargetPass
from passes.layout.orders import Order, inverse, layout_variant

_written = templates()


class StrategyFault(Exception):
    """What a strategy wrote is wrong, which no user can help: a fault of gradc's own."""


class Strategy(ABC):
    """One idea. `name` is what `--strategy` takes, `ops` the canonical ops that it can write.

    `layouts` are the layouts in which it writes convolutions without a Transpose of the data.
    `strict_only`: others are quicker; it is for targets that are strict about IEEE numbers, and for ops that
    no other strategy can write.
    `is_blocked`: what it writes is one node, which onnxruntime's CPU provider runs in a layout of blocks.
    """

    name: ClassVar[str]
    ops: ClassVar[tuple[type[Operation], ...]]
    layouts: ClassVar[tuple[str, ...]] = ("NCX",)
    strict_only: ClassVar[bool] = False
    is_blocked: ClassVar[bool] = False

    def writes_layout_of(self, op: Operation) -> bool:
        return not isinstance(op, LayoutOp) or op.layout in self.layouts

    def refusal(self, op: Operation, target: Target, *, alone: bool = False) -> str | None:
        """Why this strategy cannot write this op for this target, or need not; None if it can. `alone`: no
        other strategy can."""
        assert isinstance(op, self.ops)
        if self.strict_only and not target.strict_ieee and not alone:
            return f"slower than others: for {option('strict_ieee', True)} only"
        if self.writes_layout_of(op):
            return self._refusal(op, target)
        with layout_variant(op, self._order(op)) as other:
            return self._refusal(other, target)

    def _refusal(self, op: Operation, target: Target) -> str | None:
        """What is too large is refused first: the other reasons may take as long as writing."""
        reason = budget.refusal(self.compile_time_cost(op), op) or self.refuses(op, target)
        if reason or not target.strict_ieee or not (mixed := self.spreads_nonfinite(op, target)):
            return reason
        return f"not strict IEEE: {mixed}"

    def write(self, op: Operation, target: Target, emit: Emitter) -> Sequence[SSAValue]:
        """The results of an op in any layout, in ONNX. Only for an op that is not refused.

        Raises StrategyFault where what it writes is no ONNX, or has other shapes than the op's results.
        """
        try:
            values = self._write(op, target, emit)
        except GradcError as error:
            raise StrategyFault(f"{self.name} wrote for {op.name} what is no ONNX: {error}") from error
        if len(values) != len(op.results):
            raise StrategyFault(f"{self.name} wrote {len(values)} of {len(op.results)} results of {op.name}")
        for value, result in zip(values, op.results, strict=True):
            given, expected = shape_of(value), shape_of(result)
            if not compatible(given, expected):
                raise StrategyFault(f"{self.name} wrote {show(given)} for {op.name}, not {show(expected)}")
        return values

    def _write(self, op: Operation, target: Target, emit: Emitter) -> Sequence[SSAValue]:
        if self.writes_layout_of(op):
            written = self.emit(op, target, emit)
            return [written] if isinstance(written, SSAValue) else written
        order = self._order(op)
        data = emit(onnx.TransposeOp(op.operands[0], perm=order))
        with layout_variant(op, order, [data]) as other:
            result = self.emit(other, target, emit)
        assert isinstance(result, SSAValue), "a convolution in another layout has one result"
        return [emit(onnx.TransposeOp(result, perm=inverse(order)))]

    def _order(self, op: Operation) -> Order:
        """From the op's layout to the first that the strategy writes."""
        assert isinstance(op, LayoutOp)
        return layouts.permutation(op.layout, self.layouts[0], op.spatial_rank)

    def compile_time_cost(self, op: Any) -> CompileTimeCost:
        """A bound on what writing an op of one of `ops`, in one of `layouts`, builds at compile time."""
        return CompileTimeCost()

    @abstractmethod
    def refuses(self, op: Any, target: Target) -> str | None:
        """`refusal`, for an op of one of `ops` in one of `layouts`."""

    def spreads_nonfinite(self, op: Any, target: Target) -> str | None:
        """Why an inf or NaN may reach results that the op does not connect with it, None if it cannot.

        For an op that is not refused otherwise. docs/numbers.md defines what is connected.
        """
        del op, target
        return None

    def least_price(self, op: Operation, target: Target) -> float:
        """No more than the price in seconds of what `write` makes of an op that is not refused; 0 where sizes
        are unknown."""
        sizes = static_sizes(op.operands[0], op.results[0])
        if sizes is None:
            return 0.0
        work = Work.of(op, len(op.operands) > 1 and constant_attribute(op.operands[1]) is not None)
        if self.writes_layout_of(op):
            self.works(op, target, work)
            return work.least_price(target)
        order = self._order(op)
        with layout_variant(op, order) as other:
            self.works(other, target, work)
        if not any(step.kind == "Conv" for step in work.steps):
            self._transposes(work, order, *sizes)
        return work.least_price(target)

    def _transposes(self, work: Work, order: Order, data: Sequence[int], result: Sequence[int]) -> None:
        """Those around another layout. One of the last two axes may become part of a product."""
        if len(order) > 3:
            work.run("Transpose", [data[axis] for axis in order], data, perm=list(order))
        work.run("Transpose", result, [result[axis] for axis in order], perm=list(inverse(order)))

    def works(self, op: Any, target: Target, work: Work) -> None:
        """Add what `emit` writes and onnxruntime cannot do without; the more, the less is written in vain.

        For an op of known sizes in one of `layouts` that is not refused.
        """
        del op, target, work

    @abstractmethod
    def emit(self, op: Any, target: Target, emit: Emitter) -> SSAValue | Sequence[SSAValue]:
        """The result of an op in one of `layouts`, in ONNX, or all of several. Only for an op that is not
        refused."""


@dataclass
class ApplyStrategy(RewritePattern):
    """Writes every op that the strategy takes."""

    strategy: Strategy
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, self.strategy.ops) or self.strategy.refusal(op, self.target):
            return
        apply_strategy(self.strategy, op, self.target, rewriter)


def apply_strategy(strategy: Strategy, op: Operation, target: Target, rewriter: PatternRewriter) -> None:
    emit = Emitter()
    replace(op, rewriter, emit, written(strategy, op, target, emit))


def written(strategy: Strategy, op: Operation, target: Target, emit: Emitter) -> Sequence[SSAValue]:
    """`Strategy.write`, each op marked with the strategy's name; a copy where an op like it was written."""
    further = (strategy, the_same((target, limits.current())), *context_of(op))
    return write_templated(op, _written, emit, lambda emit: _write(strategy, op, target, emit), *further)


def _write(strategy: Strategy, op: Operation, target: Target, emit: Emitter) -> Sequence[SSAValue]:
    values = strategy.write(op, target, emit)
    for emitted in emit.ops:
        emitted.attributes[STRATEGY] = StringAttr(strategy.name)
    return values


def lower_with(strategy: Strategy, module: ModuleOp, target: Target) -> None:
    rewrite(module, [ApplyStrategy(strategy, target)], strategy.ops)


@dataclass(frozen=True)
class StrategyPass(TargetPass):
    """A strategy as a pass: writes the ops that the strategy takes, and leaves the others."""

    strategy: ClassVar[Strategy]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_with(self.strategy, op, self.env)


def pass_of(strategy: type[Strategy]) -> type[ModulePass]:
    """The pass of a strategy's name, with the options `target` and `opset`."""
    body = {"name": strategy.name, "strategy": strategy(), "__doc__": strategy.__doc__}
    return dataclass(frozen=True)(type(f"{strategy.__name__}Pass", (StrategyPass,), body))


def no_kernel(target: Target, value: SSAValue, *ops: type[OnnxOp]) -> str | None:
    """The first reason why one of the ops cannot run on tensors of the value's dtype."""
    dtype = name_of(element_type_of(value))
    reasons = (target.lacks(op, dtype) for op in ops)
    return next((reason for reason in reasons if reason), None)


def no_resize(target: Target, value: SSAValue) -> str | None:
    """Why a Resize may not take a tensor of a known rank; None if it may.

    onnxruntime's CPU provider takes one that run time finds to be empty, but ONNX none that is known to be.
    """
    shape = shape_of(value)
    if 0 not in shape and (target.name == "cpu" or isinstance(shape[0], int)):
        return None
    return "Resize refuses an empty batch, so a batch known to be positive is needed"
