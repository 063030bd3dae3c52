"""Base of the strategies that lower a resize gradient axis by axis."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Builder
from passes.cost.work import Work
from passes.resize.axis_forms import AxisForm, Dense, axes_to_write, axes_with_sizes
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ResizeByForm(Strategy):
    """One form on every axis that it fits, the dense product on the others."""

    ops: ClassVar = (ResizeBackwardOp,)
    form: ClassVar[AxisForm]

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        return sum(
            (self._form(sampling).compile_time_cost(sampling) for sampling in op.samplings), CompileTimeCost()
        )

    def _form(self, sampling: AxisSampling) -> AxisForm:
        """Return the form, or Dense if it does not fit; an axis too long to check gets the form."""
        form = self.form
        if budget.exceeds_limits(form.compile_time_cost(sampling)):
            return form
        return Dense() if form.refuses(sampling) else form

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, *Dense.needs, *self.form.needs):
            return reason
        reasons = [self.form.refuses(sampling) for sampling in op.samplings]
        return reasons[0] if all(reasons) else None

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        reasons = (self._form(sampling).spreads_nonfinite(sampling) for sampling in op.samplings)
        return next((reason for reason in reasons if reason), None)

    def works(self, op: ResizeBackwardOp, target: Target, work: Work) -> None:
        for sizes, axis, sampling in axes_with_sizes(op):
            self._form(sampling).works(work, sizes, axis, sampling)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Builder) -> SSAValue:
        value: SSAValue = op.diff_dst
        for axis, sampling in axes_to_write(op):
            value = self._form(sampling).write(emit, value, axis, sampling)
        return value
