"""avg-pool-to-conv-transpose: conv-to-conv-transpose with equal weights."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.base import Strategy
from passes.strategies.conv.conv_to_conv_transpose import ConvToConvTranspose
from passes.strategies.pool.avg_pool_by_conv import AvgPoolByConv


class AvgPoolToConvTranspose(AvgPoolByConv):
    """ConvTranspose of constant weights."""

    name: ClassVar[str] = "avg-pool-to-conv-transpose"
    form: ClassVar[Strategy] = ConvToConvTranspose()
