"""conv-to-upsampled-conv: zeros inserted between the positions of diff_dst turn a stride into a convolution.

With u[s y] = diff_dst[y] and zeros elsewhere, diff_src is the convolution of u with the flipped kernel, with
begin pads Ke - 1 - pb, and end pads that extend u's s Y positions to X: X + pb - s Y.

It needs s^n times the multiplications, and is fast where those do not dominate: a depthwise ConvTranspose
runs channel by channel. u is computed by Resize (nearest) and a mask.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import repeat
from passes.conv.convolution import Convolution, convolve
from passes.conv.weights import flip_kernel
from passes.conv.work import images, one_convolution
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel, no_resize
from passes.targets.target import Target


class ConvToUpsampledConv(Strategy):
    """Zero insertion by Resize and Mul, then Conv with flipped weights."""

    name: ClassVar[str] = "conv-to-upsampled-conv"
    ops: ClassVar = (ConvBackwardDataOp,)

    def compile_time_cost(self, op: ConvBackwardDataOp) -> CompileTimeCost:
        """Count a mask as large as the spatial axes of the upsampled data."""
        sizes = [y for y in op.spatial(op.diff_dst) if isinstance(y, int)]
        mask = math.prod(sizes) * math.prod(op.strides)
        return CompileTimeCost(mask + sum(op.weights_shape[2:]), 8, math.prod(op.strides))

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.ConvOp, onnx.ResizeOp, onnx.MulOp):
            return reason
        if math.prod(op.strides) == 1:
            return "no axis has a stride"
        if reason := no_resize(target, op.diff_dst):
            return reason
        if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
            return "spatial sizes must be static"
        if all(m in (1, k) for m, k in zip(_mask_sizes(op), op.weights_shape[2:], strict=True)):
            return "the mask has the kernel's sizes, and OpenVINO would fold it into the weights"
        for letter, begin, end in zip(axis_letters(op.spatial_rank), *_pads(op), strict=True):
            if min(begin, end) < 0:
                return f"the convolution would need negative pads ({begin}, {end}) on axis {letter}"
        return None

    def spreads_nonfinite(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        return "the mask that inserts zeros multiplies by 0"

    def works(self, op: ConvBackwardDataOp, target: Target, work: Work) -> None:
        data, result = images(op)
        first, second, *kernel = op.weights_shape
        groups, spatial = (
            op.groups,
            [s * y for s, y in zip(op.strides, data[2:], strict=True)],
        )
        zeros = work.run("Resize", (*data[:2], *spatial), data)
        work.run("Mul", zeros, zeros, work.constant(spatial))
        conv = Convolution((1,) * len(kernel), tuple(op.dilations), *_pads(op), groups)
        one_convolution(work, zeros, result, (groups * second, first // groups, *kernel), conv)

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: OpBuilder) -> SSAValue:
        groups = op.groups
        weights = flip_kernel(emit, op.weights, groups)
        unit = (1,) * op.spatial_rank
        conv = Convolution(unit, tuple(op.dilations), *_pads(op), groups)
        return convolve(emit, _upsample(op, emit), weights, conv)


def _pads(op: ConvBackwardDataOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return begin and end pads of the convolution of u."""
    sizes = zip(op.axes, op.spatial(op.diff_dst), op.spatial(op.diff_src), strict=True)
    after: list[int] = []
    for axis, y, x in sizes:
        assert isinstance(y, int)
        assert isinstance(x, int)
        after.append(x + axis.pad_begin - axis.window.stride * y)
    return tuple(axis.window.extent - 1 - axis.pad_begin for axis in op.axes), tuple(after)


def _mask_sizes(op: ConvBackwardDataOp) -> list[int]:
    return [s * y for s, y in zip(op.strides, op.spatial(op.diff_dst), strict=True) if isinstance(y, int)]


def _upsample(op: ConvBackwardDataOp, emit: OpBuilder) -> SSAValue:
    strides = op.strides
    repeated = repeat(emit, op.diff_dst, [1, 1, *strides])
    dtype = known_dtype(element_type_of(op.diff_dst))
    mask = np.zeros(_mask_sizes(op), dtype.numpy)
    mask[tuple(slice(None, None, s) for s in strides)] = 1
    return emit(onnx.MulOp(repeated, emit.constant(mask)))
