"""The strategies, one idea per file. Adding one means adding it to `STRATEGIES`."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation

from passes.strategies.base import Strategy
from passes.strategies.conv_nxc_to_matmul import ConvNxcToMatMul
from passes.strategies.conv_to_col2im import ConvToCol2Im
from passes.strategies.conv_to_conv import ConvToConv
from passes.strategies.conv_to_conv2d import ConvToConv2D
from passes.strategies.conv_to_conv_transpose import ConvToConvTranspose
from passes.strategies.conv_to_matmul import ConvToMatMul
from passes.strategies.conv_to_phase_convs import ConvToPhaseConvs
from passes.strategies.conv_to_tap_sums import ConvToTapSums
from passes.strategies.conv_to_upsampled_conv import ConvToUpsampledConv
from passes.strategies.resize_by_axis import ResizeByAxis
from passes.strategies.resize_dynamic_to_gathered_sum import ResizeDynamicToGatheredSum
from passes.strategies.resize_dynamic_to_matmul import ResizeDynamicToMatMul
from passes.strategies.resize_to_banded_matmul import ResizeToBandedMatMul
from passes.strategies.resize_to_block_matmul import ResizeToBlockMatMul
from passes.strategies.resize_to_conv import ResizeToConv
from passes.strategies.resize_to_gather import ResizeToGather
from passes.strategies.resize_to_gathered_sum import ResizeToGatheredSum
from passes.strategies.resize_to_matmul import ResizeToMatMul
from passes.strategies.resize_to_pool import ResizeToPool
from passes.strategies.resize_to_reduce_sum import ResizeToReduceSum
from passes.strategies.window_to_slice import WindowToSlice

STRATEGIES: tuple[type[Strategy], ...] = (
    ConvToConv,
    ConvToConv2D,
    ConvToConvTranspose,
    ConvToPhaseConvs,
    ConvToUpsampledConv,
    ConvToMatMul,
    ConvNxcToMatMul,
    ConvToCol2Im,
    ConvToTapSums,
    ResizeToMatMul,
    ResizeToBandedMatMul,
    ResizeToBlockMatMul,
    ResizeToConv,
    ResizeToPool,
    ResizeToReduceSum,
    ResizeToGather,
    ResizeToGatheredSum,
    ResizeByAxis,
    ResizeDynamicToMatMul,
    ResizeDynamicToGatheredSum,
    WindowToSlice,
)


@cache
def by_name() -> dict[str, Strategy]:
    return {strategy.name: strategy() for strategy in STRATEGIES}


def strategies_of(op: Operation) -> list[Strategy]:
    """The strategies that know this kind of op, applicable or not."""
    return list(_strategies_of(type(op)))


@cache
def _strategies_of(kind: type[Operation]) -> tuple[Strategy, ...]:
    return tuple(strategy for strategy in by_name().values() if issubclass(kind, strategy.ops))
