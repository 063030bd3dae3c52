"""Base class of strategies: lowerings of one canonical gradient to plain ONNX.

A strategy sees only ops in a layout that it declares. Any other op is replaced by its variant in the first
declared layout, and the lowered ops are placed between two Transposes.
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
from dialects.support.memo import intern_value
from dialects.support.option_names import option
from dialects.support.shapes import compatible, element_type_of, shape_of, show
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.rewrite_cache import templates, write_from_template
from passes.builder.rewriting import replace, rewrite
from passes.builder.tensors import context_of
from passes.cost.work import Work, static_sizes
from passes.layout.orders import Order, inverse, layout_variant
from passes.targets.target import Target, TargetPass

_written = templates()


class StrategyFault(Exception):
    """A strategy lowered an op wrongly: a bug in gradc, not an error of the user."""


class Strategy(ABC):
    """Lowering of the canonical ops `ops`; `name` is the value of `--strategy`.

    `layouts` are the layouts in which it lowers convolutions without transposing the data.
    `strict_only`: slower than others; for targets with strict IEEE numbers, and ops without another strategy.
    `is_blocked`: lowers to one node, which onnxruntime's CPU provider runs in a blocked layout.
    """

    name: ClassVar[str]
    ops: ClassVar[tuple[type[Operation], ...]]
    layouts: ClassVar[tuple[str, ...]] = ("NCX",)
    strict_only: ClassVar[bool] = False
    is_blocked: ClassVar[bool] = False

    def writes_layout_of(self, op: Operation) -> bool:
        return not isinstance(op, LayoutOp) or op.layout in self.layouts

    def refusal(self, op: Operation, target: Target, *, alone: bool = False) -> str | None:
        """Return why this strategy cannot, or need not, lower this op for this target, or None. `alone`: no
        other strategy applies."""
        assert isinstance(op, self.ops)
        if self.strict_only and not target.strict_ieee and not alone:
            return f"slower than others: for {option('strict_ieee', True)} only"
        if self.writes_layout_of(op):
            return self._refusal(op, target)
        with layout_variant(op, self._order(op)) as other:
            return self._refusal(other, target)

    def _refusal(self, op: Operation, target: Target) -> str | None:
        """Check the size limits first: the other checks may take as long as the lowering."""
        reason = budget.budget_error(self.compile_time_cost(op), op) or self.refuses(op, target)
        if reason or not target.strict_ieee or not (mixed := self.spreads_nonfinite(op, target)):
            return reason
        return f"not strict IEEE: {mixed}"

    def write(self, op: Operation, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
        """Lower an op in any layout that is not refused; return the ONNX values of its results.

        Raises StrategyFault if the ONNX is invalid or its shapes differ from those of the op's results.
        """
        try:
            values = self._write(op, target, emit)
        except GradcError as error:
            raise StrategyFault(f"{self.name} lowered {op.name} to invalid ONNX: {error}") from error
        if len(values) != len(op.results):
            raise StrategyFault(
                f"{self.name} lowered {op.name} to {len(values)} of {len(op.results)} results"
            )
        for value, result in zip(values, op.results, strict=True):
            given, expected = shape_of(value), shape_of(result)
            if not compatible(given, expected):
                raise StrategyFault(f"{self.name} lowered {op.name} to {show(given)}, not {show(expected)}")
        return values

    def _write(self, op: Operation, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
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
        """Return the permutation from the op's layout to the first supported one."""
        assert isinstance(op, LayoutOp)
        return layouts.permutation(op.layout, self.layouts[0], op.spatial_rank)

    def compile_time_cost(self, op: Any) -> CompileTimeCost:
        """Return a bound on what lowering an op of `ops`, in a layout of `layouts`, creates."""
        return CompileTimeCost()

    @abstractmethod
    def refuses(self, op: Any, target: Target) -> str | None:
        """Return the `refusal` of an op of `ops` in a layout of `layouts`."""

    def spreads_nonfinite(self, op: Any, target: Target) -> str | None:
        """Return why an inf or NaN may reach results that do not depend on it, or None.

        Called for ops that are not refused otherwise. docs/numbers.md defines the dependence.
        """
        del op, target
        return None

    def least_price(self, op: Operation, target: Target) -> float:
        """Return a lower bound on the seconds of the lowering of an op that is not refused; 0 for unknown
        sizes."""
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
        """Add the Transposes around another layout. One of the last two axes may be fused into a product."""
        if len(order) > 3:
            work.run("Transpose", [data[axis] for axis in order], data, perm=list(order))
        work.run("Transpose", result, [result[axis] for axis in order], perm=list(inverse(order)))

    def works(self, op: Any, target: Target, work: Work) -> None:
        """Add the unavoidable steps of `emit`; the more, the fewer lowerings are tried in vain.

        Called for ops of static sizes in a layout of `layouts` that are not refused.
        """
        del op, target, work

    @abstractmethod
    def emit(self, op: Any, target: Target, emit: OpBuilder) -> SSAValue | Sequence[SSAValue]:
        """Lower an op in a layout of `layouts` that is not refused; return its result, or all of several."""


@dataclass
class ApplyStrategy(RewritePattern):
    """Pattern that lowers every op that the strategy accepts."""

    strategy: Strategy
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, self.strategy.ops) or self.strategy.refusal(op, self.target):
            return
        apply_strategy(self.strategy, op, self.target, rewriter)


def apply_strategy(strategy: Strategy, op: Operation, target: Target, rewriter: PatternRewriter) -> None:
    emit = OpBuilder()
    replace(op, rewriter, emit, lower_and_mark(strategy, op, target, emit))


def lower_and_mark(strategy: Strategy, op: Operation, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
    """Run `Strategy.write`, or clone the result for an equal op; mark each op with the strategy's name."""
    further = (strategy, intern_value((target, limits.current())), *context_of(op))
    return write_from_template(op, _written, emit, lambda emit: _write(strategy, op, target, emit), *further)


def _write(strategy: Strategy, op: Operation, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
    values = strategy.write(op, target, emit)
    for emitted in emit.ops:
        emitted.attributes[STRATEGY] = StringAttr(strategy.name)
    return values


def lower_with(strategy: Strategy, module: ModuleOp, target: Target) -> None:
    rewrite(module, [ApplyStrategy(strategy, target)], strategy.ops)


@dataclass(frozen=True)
class StrategyPass(TargetPass):
    """Pass that lowers the ops that a strategy accepts and leaves the others."""

    strategy: ClassVar[Strategy]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_with(self.strategy, op, self.env)


def pass_of(strategy: type[Strategy]) -> type[ModulePass]:
    """Return the pass with a strategy's name and the options `target` and `opset`."""
    body = {"name": strategy.name, "strategy": strategy(), "__doc__": strategy.__doc__}
    return dataclass(frozen=True)(type(f"{strategy.__name__}Pass", (StrategyPass,), body))


def no_kernel(target: Target, value: SSAValue, *ops: type[OnnxOp]) -> str | None:
    """Return the first reason why an op cannot run with the dtype of `value`, or None."""
    dtype = name_of(element_type_of(value))
    reasons = (target.lacks(op, dtype) for op in ops)
    return next((reason for reason in reasons if reason), None)


def no_resize(target: Target, value: SSAValue) -> str | None:
    """Return why a Resize may not read a ranked tensor, or None.

    onnxruntime's CPU provider accepts one that is empty at run time; ONNX none that is statically empty.
    """
    shape = shape_of(value)
    if 0 not in shape and (target.spec.empty_resize or isinstance(shape[0], int)):
        return None
    return "Resize refuses an empty batch, so a batch known to be positive is needed"
