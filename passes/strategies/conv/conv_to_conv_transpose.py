"""conv-to-conv-transpose: the gradient of a convolution is a transposed convolution.

ConvTranspose scatters to x = y s - pb + k d, the index equation of the gradient, without a flip: weights (O,
C / g, K...) are ConvTranspose's (C_in, C_out / g, K...), and the residue is its output_padding. `auto_pad`
and `output_shape` are never used: runtimes disagree on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.shapes import Dim, shape_of
from passes.builder.op_builder import OpBuilder
from passes.conv.work import images
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ConvToConvTranspose(Strategy):
    """ConvTranspose with the weights unchanged."""

    name: ClassVar[str] = "conv-to-conv-transpose"
    ops: ClassVar = (ConvBackwardDataOp,)

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.ConvTransposeOp)

    def spreads_nonfinite(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        return target.spec.spreads_nonfinite

    def works(self, op: ConvBackwardDataOp, target: Target, work: Work) -> None:
        if target.spec.symmetric_pads and op.pads_begin != op.pads_end:
            return
        pads = [*op.pads_begin, *op.pads_end]
        lists = {"strides": op.strides, "dilations": op.dilations, "pads": pads}
        data, result = images(op)
        weights = work.weights(op.weights_shape)
        work.run("ConvTranspose", result, data, weights, group=op.groups, **lists)

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: OpBuilder) -> SSAValue:
        begin = [axis.pad_begin for axis in op.axes]
        end = [axis.pad_end for axis in op.axes]
        if begin == end or not target.spec.symmetric_pads:
            return _scatter(emit, op, begin, end)
        # pad both ends by the smaller pad, and slice off the rest
        least = [min(axis.pads) for axis in op.axes]
        extra = [(b - m, e - m) for b, e, m in zip(begin, end, least, strict=True)]
        return _without(emit, _scatter(emit, op, least, least), extra, shape_of(op.diff_src)[2:])


def _scatter(emit: OpBuilder, op: ConvBackwardDataOp, begin: Sequence[int], end: Sequence[int]) -> SSAValue:
    return emit(
        onnx.ConvTransposeOp(
            op.diff_dst,
            op.weights,
            group=op.groups,
            strides=op.strides,
            dilations=op.dilations,
            pads=[*begin, *end],
            output_padding=op.residue,
        )
    )


def _without(
    emit: OpBuilder, value: SSAValue, extra: Sequence[tuple[int, int]], sizes: Sequence[Dim]
) -> SSAValue:
    """Drop `extra` positions at begin and end of the spatial axes, leaving `sizes`."""
    ends = [
        begin + size if isinstance(size, int) else -end or TO_THE_END
        for (begin, end), size in zip(extra, sizes, strict=True)
    ]
    axes = range(2, 2 + len(sizes))
    return emit(onnx.SliceOp(value, emit.ints([b for b, _ in extra]), emit.ints(ends), emit.ints([*axes])))
