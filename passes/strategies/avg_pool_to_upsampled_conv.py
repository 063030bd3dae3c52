"""avg-pool-to-upsampled-conv: conv-to-upsampled-conv with equal weights."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.avg_pool_by_conv import AvgPoolByConv
from passes.strategies.base import Strategy
from passes.strategies.conv_to_upsampled_conv import ConvToUpsampledConv


class AvgPoolToUpsampledConv(AvgPoolByConv):
    """Resize, Mul and Conv of constant weights."""

    name: ClassVar[str] = "avg-pool-to-upsampled-conv"
    form: ClassVar[Strategy] = ConvToUpsampledConv()
