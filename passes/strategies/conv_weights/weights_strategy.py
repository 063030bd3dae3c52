"""Base of the strategies that lower the gradient of a convolution with respect to its weights."""

from __future__ import annotations

from typing import ClassVar

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from passes.conv.weight_gradients import Taps
from passes.strategies.base import Strategy
from passes.targets.target import Target


class WeightsStrategy(Strategy):
    """Lowering that reads zeros around `src` where the convolution is padded."""

    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None
