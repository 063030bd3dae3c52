"""Strategies that lower a resize gradient axis by axis, in one form."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.cost.work import Work
from passes.resize.axis_forms import (
    AxisForm,
    Bands,
    Blocks,
    Convs,
    Dense,
    Sums,
    Tables,
    axes_to_write,
    axes_with_sizes,
)
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

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        value: SSAValue = op.diff_dst
        for axis, sampling in axes_to_write(op):
            value = self._form(sampling).write(emit, value, axis, sampling)
        return value


class ResizeToMatMul(ResizeByForm):
    """One dense MatMul per axis with a constant matrix.

    Per axis, a product with the sampling matrix. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-matmul"
    form: ClassVar = Dense()


class ResizeToBandedMatMul(ResizeByForm):
    """A MatMul per block of an axis with that block's part of the matrix.

    The sampling matrix without its zeros. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-banded-matmul"
    form: ClassVar = Bands()


class ResizeToBlockMatMul(ResizeByForm):
    """One MatMul on reshaped blocks where the sampling repeats.

    One small matrix for all periods of the sampling. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-block-matmul"
    form: ClassVar = Blocks()


class ResizeToReduceSum(ResizeByForm):
    """ReduceSum, or Gathers and Adds, for nearest enlargement by a whole factor.

    Sums for nearest enlargement by a whole factor. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-reduce-sum"
    form: ClassVar = Sums()


class ResizeToGatheredSum(ResizeByForm):
    """Gather, Mul and ReduceSum for any sampling.

    Rows gathered by a table, weighted and summed. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-gathered-sum"
    form: ClassVar = Tables()
    strict_only: ClassVar = True


class ResizeToPlaneConv(ResizeByForm):
    """One strided Conv per axis if the sampling repeats, with an output channel per position of a period.

    A Conv of images of one channel per axis. See `resize.axis_forms`.
    """

    name: ClassVar[str] = "resize-to-plane-conv"
    form: ClassVar = Convs()

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if len(shape_of(op.diff_dst)) - 1 not in op.axes:
            return "the last axis is not resized: for channels last, block products are faster"
        return super().refuses(op, target)
