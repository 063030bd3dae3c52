"""conv-to-col2im: the gradient of a convolution as a matrix product and Col2Im.

Columns (C K, Y) = weights (C K, O) times diff_dst (O, Y): the contribution of each output position to each
tap of its window. Col2Im sums them at x = y s - pb + k d.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape, size_of
from passes.conv.work import images
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ConvToCol2Im(Strategy):
    """MatMul to columns, Col2Im back."""

    name: ClassVar[str] = "conv-to-col2im"
    ops: ClassVar = (ConvBackwardDataOp,)

    def compile_time_cost(self, op: ConvBackwardDataOp) -> CompileTimeCost:
        return CompileTimeCost(0, 10, math.prod(op.weights_shape[2:]))

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.Col2ImOp, onnx.MatMulOp):
            return reason
        if not shapes.is_static((*shape_of(op.diff_dst)[2:], *shape_of(op.diff_src)[2:])):
            return "spatial sizes must be static"
        batch = shape_of(op.diff_dst)[0]
        if not isinstance(batch, int) or batch == 0:
            return "Col2Im rejects an empty batch, so the batch must be static and positive"
        if op.spatial_rank != 2:
            # onnxruntime 1.31 counts dilated windows as dense, OpenVINO 2026.4 rejects the op
            return "runtimes compute Col2Im correctly on two spatial axes only"
        return None

    def works(self, op: ConvBackwardDataOp, target: Target, work: Work) -> None:
        (batch, _, *spatial), result = images(op)
        out, per_group, *kernel = op.weights_shape
        groups, taps, length = op.groups, math.prod(kernel), math.prod(spatial)
        matrix = work.weights((groups, per_group * taps, out // groups))
        columns = (batch, groups, out // groups, length)
        work.reshape((batch, out, *spatial), columns)
        columns = work.multiply(matrix, columns)
        work.reshape(columns, (batch, groups * per_group * taps, length))
        pads = [*op.pads_begin, *op.pads_end]
        lists = {"strides": op.strides, "dilations": op.dilations, "pads": pads}
        work.run("Col2Im", result, (batch, groups * per_group * taps, length), **lists)

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: OpBuilder) -> SSAValue:
        groups = op.groups
        out, per_group, *kernel = op.weights_shape
        taps = int(np.prod(kernel))
        length = int(np.prod([y for y in shape_of(op.diff_dst)[2:] if isinstance(y, int)]))
        batch = size_of(emit, op.diff_dst, 0)
        matrix = reshape(emit, op.weights, [groups, out // groups, per_group * taps])
        matrix = emit(onnx.TransposeOp(matrix, perm=[0, 2, 1]))
        data = reshape(emit, op.diff_dst, [batch, groups, out // groups, length])
        columns = emit(onnx.MatMulOp(matrix, data))
        columns = reshape(emit, columns, [batch, groups * per_group * taps, length])
        image = [x for x in shape_of(op.diff_src)[2:] if isinstance(x, int)]
        return emit(
            onnx.Col2ImOp(
                columns,
                emit.ints(image),
                emit.ints(kernel),
                strides=op.strides,
                dilations=op.dilations,
                pads=[*op.pads_begin, *op.pads_end],
            )
        )
