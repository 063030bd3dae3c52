"""Strategies that lower the gradient of a mean as that of a depthwise convolution.

Each channel has its own kernel, with weights 1 / (their number).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.grad.conv import ConvBackwardDataOp, conv_backward_data
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.strategies.base import Strategy
from passes.strategies.conv.conv_to_conv_transpose import ConvToConvTranspose
from passes.strategies.conv.conv_to_upsampled_conv import ConvToUpsampledConv
from passes.targets.target import Target


class AvgPoolByConv(Strategy):
    """Lowering by `form`, a strategy for the gradient of a depthwise convolution."""

    ops: ClassVar = (AvgPoolBackwardOp,)
    form: ClassVar[Strategy]

    def compile_time_cost(self, op: AvgPoolBackwardOp) -> CompileTimeCost:
        channels = op.channels if isinstance(op.channels, int) else 0
        weights = CompileTimeCost(channels * math.prod(op.kernel), 10)
        if channels == 0 or budget.exceeds_limits(weights):
            return weights
        with _convolution(op, OpBuilder()) as convolution:
            return weights + self.form.compile_time_cost(convolution)

    def refuses(self, op: AvgPoolBackwardOp, target: Target) -> str | None:
        if not isinstance(op.channels, int) or op.channels == 0:
            return "each channel has its own weights, so the number of channels must be static and not 0"
        with _convolution(op, OpBuilder()) as convolution:
            return self.form.refuses(convolution, target)

    def spreads_nonfinite(self, op: AvgPoolBackwardOp, target: Target) -> str | None:
        with _convolution(op, OpBuilder()) as convolution:
            return self.form.spreads_nonfinite(convolution, target)

    def emit(self, op: AvgPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue | Sequence[SSAValue]:
        with _convolution(op, emit) as convolution:
            return self.form.emit(convolution, target, emit)


@contextmanager
def _convolution(op: AvgPoolBackwardOp, emit: OpBuilder) -> Generator[ConvBackwardDataOp]:
    dtype, channels = of_mlir(element_type_of(op.diff_dst)), op.channels
    assert dtype is not None
    assert isinstance(channels, int)
    share = np.full((channels, 1, *op.kernel), 1 / math.prod(op.kernel), dtype.numpy)
    weights = emit.constant(share)
    found = conv_backward_data(op.diff_dst, weights, op.axes, op.residue, channels, op.layout)
    try:
        yield found
    finally:
        found.drop_all_references()


class AvgPoolToConvTranspose(AvgPoolByConv):
    """ConvTranspose of constant weights.

    conv-to-conv-transpose with equal weights.
    """

    name: ClassVar[str] = "avg-pool-to-conv-transpose"
    form: ClassVar[Strategy] = ConvToConvTranspose()


class AvgPoolToUpsampledConv(AvgPoolByConv):
    """Resize, Mul and Conv of constant weights.

    conv-to-upsampled-conv with equal weights.
    """

    name: ClassVar[str] = "avg-pool-to-upsampled-conv"
    form: ClassVar[Strategy] = ConvToUpsampledConv()
