"""conv-to-joined-groups: merge groups of few channels until they fill the blocks of onnxruntime's kernels.

m neighbouring groups become one of m times the channels, with weights of 0 between channels of different
groups. That needs m times the multiplications; but onnxruntime's blocked (NCHWc) kernels require groups whose
channels fill blocks, and it unrolls the windows of others group by group. The merged gradient is lowered as a
Conv, or as one per phase of a stride.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from xdsl.ir import Block, SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support.attributes import INT
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of, tensor_type
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.convolution import GradConv
from passes.cost.work import Work
from passes.onnxruntime.optimizer_model import BLOCK
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv.conv_to_conv import ConvToConv
from passes.strategies.conv.conv_to_conv2d import ConvToConv2D
from passes.strategies.conv.conv_to_phase_convs import ConvToPhaseConvs
from passes.targets.target import Target


class ConvToJoinedGroups(Strategy):
    """Conv, or a Conv per phase of the stride, of fewer and wider groups."""

    name: ClassVar[str] = "conv-to-joined-groups"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        """Count the mask of the weights, and the lowering of the merged op."""
        count = _merge_count(op)
        if count is None:
            return CompileTimeCost()
        channels, per_group, *_ = op.weights_shape
        with _merge_groups(op, count) as wide:
            return CompileTimeCost(channels * per_group * count, 4) + _inner_strategy(wide).compile_time_cost(
                wide
            )

    def refuses(self, op: GradConv, target: Target) -> str | None:
        channels, per_group, *_ = op.weights_shape
        if op.groups == 1:
            return "there is one group"
        if op.spatial_rank == 3:
            return "for one or two spatial axes: onnxruntime has no blocked kernels for three"
        if per_group == 1 and channels == op.groups:
            return "depthwise: onnxruntime has blocked kernels for it"
        count = _merge_count(op)
        if count is None:
            return f"no number of merged groups has a multiple of {BLOCK} channels on both sides"
        if count == 1:
            return f"the channels of each group fill blocks of {BLOCK}"
        if reason := no_kernel(target, op.diff_dst, onnx.ConcatOp, onnx.MulOp):
            return reason
        with _merge_groups(op, count) as wide:
            return _inner_strategy(wide).refusal(wide, target)

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return "channels of other groups are multiplied by 0"

    def works(self, op: GradConv, target: Target, work: Work) -> None:
        count = _merge_count(op)
        assert count is not None
        with _merge_groups(op, count) as wide:
            _inner_strategy(wide).works(wide, target, work)

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
        count = _merge_count(op)
        assert count is not None
        with _merge_groups(op, count, _block_diagonal(emit, op, count)) as wide:
            return _inner_strategy(wide).write(wide, target, emit)


def _merge_count(op: GradConv) -> int | None:
    """Return the fewest groups whose merged channels fill blocks; None if they do not divide `groups`."""
    channels, per_group, *_ = op.weights_shape
    groups = op.groups
    sides = (channels // groups, per_group)
    count = math.lcm(*(BLOCK // math.gcd(BLOCK, side) for side in sides))
    return count if groups % count == 0 else None


def _inner_strategy(op: GradConv) -> Strategy:
    if any(s > 1 for s in op.strides) and isinstance(op, ConvBackwardDataOp):
        return ConvToPhaseConvs()
    return ConvToConv2D() if op.spatial_rank == 1 else ConvToConv()


@contextmanager
def _merge_groups(op: GradConv, count: int, weights: SSAValue | None = None) -> Generator[GradConv]:
    """Yield the op with `count` times fewer groups, in no block, while the context lasts.

    It reads `weights`, or by default a block argument of their type.
    """
    first, second, *kernel = op.weights_shape
    if weights is None:
        wide = tensor_type(element_type_of(op.weights), [first, count * second, *kernel])
        (weights,) = Block(arg_types=[wide]).args
    other = type(op).create(
        operands=[op.diff_dst, weights],
        result_types=op.result_types,
        properties={**op.properties, "groups": INT.encode(op.groups // count)},
        attributes=op.attributes,
        location=op.location,
    )
    try:
        yield other
    finally:
        other.drop_all_references()


def _block_diagonal(emit: OpBuilder, op: GradConv, count: int) -> SSAValue:
    """Return weights (A, m B / g, K...) of m = `count` merged groups, with zeros between different groups."""
    first, second, *kernel = op.weights_shape
    of_group = np.arange(first) // (first // op.groups) % count
    dtype = known_dtype(element_type_of(op.weights))
    mask = np.repeat(of_group[:, None] == np.arange(count), second, axis=1)
    mask = mask.reshape(first, count * second, *(1 for _ in kernel)).astype(dtype.numpy)
    return emit(onnx.MulOp(emit(onnx.ConcatOp([op.weights] * count, axis=1)), emit.constant(mask)))
