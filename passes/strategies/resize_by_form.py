"""What the strategies share that write a resize gradient axis after axis."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from passes.strategies.base import Strategy, no_kernel
from passes.support.axis_forms import AxisForm, Dense, axes_to_write
from passes.support.rewriting import Emitter
from passes.target import Target


class ResizeByForm(Strategy):
    """One form on every axis that it fits, the dense product on the others."""

    ops: ClassVar = (ResizeBackwardOp,)
    form: ClassVar[AxisForm]

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, *Dense.needs, *self.form.needs):
            return reason
        reasons = [self.form.refuses(sampling) for sampling in op.samplings]
        return reasons[0] if all(reasons) else None

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        value: SSAValue = op.diff_dst
        for axis, sampling in axes_to_write(op):
            form = Dense() if self.form.refuses(sampling) else self.form
            value = form.write(emit, value, axis, sampling)
        return value
