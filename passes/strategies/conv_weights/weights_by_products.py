"""Strategies that lower the gradient of a convolution's weights to matrix products.

They differ in the taps of the kernel that one product covers: one, those of a row, or all.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.weight_columns import by_channels_last_columns, by_columns
from passes.conv.weight_gradients import Taps, by_taps, channels_first
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv_weights.weights_strategy import WeightsStrategy
from passes.targets.target import Target

NEEDED = (onnx.MatMulOp, onnx.GemmOp, onnx.PadOp, onnx.SliceOp, onnx.ReduceSumOp, onnx.ConcatOp)


class WeightsToTaps(WeightsStrategy):
    """Slice and MatMul for each tap, stacked.

    The gradient of a convolution's weights as a product for each tap of the kernel.

        diff_weights[.., k] = diff_dst (O, N Y) times the reads of tap k from src (N Y, C)

    The reads of a tap are a Slice of padded src. A kernel of one tap is one product.
    """

    name: ClassVar[str] = "weights-to-taps"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 20 + 12 * math.prod(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if shape_of(op.diff_weights)[:2] == (op.groups, 1) and op.groups > 1:
            return "each product would be of one row by one column: weights-to-tap-sums has the same sums"
        return no_kernel(target, op.src, *NEEDED)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        return by_taps(emit, *channels_first(op, emit), Taps.of(op.axes), op.groups)


class WeightsToExactTaps(WeightsToTaps):
    """Slice, Where and MatMul for each tap, stacked.

    `weights-to-taps` without products with padding.

    Each tap multiplies diff_dst where it reads data, and 0 elsewhere: the zeros of the padding then meet no
    inf.
    """

    name: ClassVar[str] = "weights-to-exact-taps"
    strict_only: ClassVar = True

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return super().compile_time_cost(op) + CompileTimeCost(0, 12 * sum(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if not Taps.of(op.axes).has_pads:
            return "without pads weights-to-taps is as exact"
        return no_kernel(target, op.src, *NEEDED, onnx.WhereOp)

    spreads_nonfinite = Strategy.spreads_nonfinite

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        return by_taps(emit, *channels_first(op, emit), Taps.of(op.axes), op.groups, exact=True)


class WeightsToColumns(WeightsStrategy):
    """Concatenated Slices along the last axis; a MatMul for each row of taps.

    One product for the taps of a row of the kernel.

        diff_weights[.., k, :] = diff_dst (O, N Y) times the reads of kernel row k from src (N Y, C taps)

    Columns of all rows are sliced once; the reads of a row are a Slice of them along another axis, which
    copies long runs.
    """

    name: ClassVar[str] = "weights-to-columns"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 30 + 12 * (op.kernel[-1] + math.prod(op.kernel[:-1])))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if op.kernel[-1] == 1 or len(op.kernel) == 1:
            return "the kernel has one row, or one tap per row"
        return no_kernel(target, op.src, *NEEDED)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        return by_columns(op, emit, 1)


class WeightsNxcToColumns(WeightsToColumns):
    """Concatenated Slices of channels-last data; a Gemm for each row of taps.

    weights-to-columns for channels-last data, without transposing the data.

        diff_weights[.., k, :] = diff_dst (N Y, O), transposed, times the reads of kernel row k (N Y, taps C)

    The product transposes on the fly; only the weights are transposed afterwards.
    """

    name: ClassVar[str] = "weights-nxc-to-columns"
    layouts: ClassVar = ("NXC",)

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if op.layout != "NXC":
            return "only channels-last data has contiguous channels"
        if op.groups > 1:
            return f"groups {op.groups}: the channels of a position are in several products"
        needed = (onnx.GemmOp, onnx.PadOp, onnx.SliceOp, onnx.ConcatOp, onnx.TransposeOp)
        return no_kernel(target, op.src, *needed)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        return by_channels_last_columns(op, emit)


class WeightsToWindows(WeightsStrategy):
    """Concatenated Slices of all taps, and one MatMul.

    The gradient of a convolution's weights as one product.

        diff_weights = diff_dst (O, N Y) times the reads of all taps from src (N Y, C taps)

    The reads of a channel's taps are adjacent, in the order of the weights, so no Transpose follows.
    """

    name: ClassVar[str] = "weights-to-windows"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 40 + 6 * sum(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if math.prod(op.kernel) == 1:
            return "one tap: weights-to-taps is the same product"
        return no_kernel(target, op.src, *NEEDED)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        return by_columns(op, emit, op.spatial_rank)
