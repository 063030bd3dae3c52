"""avg-pool-to-upsampled-conv: conv-to-upsampled-conv with equal weights."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.base import Strategy
from passes.strategies.conv.conv_to_upsampled_conv import ConvToUpsampledConv
from passes.strategies.pool.avg_pool_by_conv import AvgPoolByConv


class AvgPoolToUpsampledConv(AvgPoolByConv):
    """Resize, Mul and Conv of constant weights."""

    name: ClassVar[str] = "avg-pool-to-upsampled-conv"
    form: ClassVar[Strategy] = ConvToUpsampledConv()
