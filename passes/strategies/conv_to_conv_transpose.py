"""conv-to-conv-transpose: the gradient of a convolution is a transposed convolution.

ConvTranspose scatters x = y s - pb + k d, which is the very index equation of the gradient, without a
flip: weights (O, C / g, K...) are ConvTranspose's (C_in, C_out / g, K...) as they stand, and the
residue is its output_padding. `auto_pad` and `output_shape` are never written: runtimes disagree on
both.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.rewriting import Emitter
from passes.support.tensors import Size, take_static_window
from passes.target import Target


class ConvToConvTranspose(Strategy):
    """ConvTranspose with the weights as they are."""

    name: ClassVar[str] = "conv-to-conv-transpose"
    ops: ClassVar = (ConvBackwardDataOp,)

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.ConvTransposeOp):
            return reason
        asymmetric = any(axis.pad_begin != axis.pad_end for axis in op.axes)
        unknown = any(not isinstance(x, int) for x in shape_of(op.diff_src)[2:])
        if target.symmetric_pads and asymmetric and unknown:
            return f"{target.symmetric_pads}, and slicing needs a known size"
        return None

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: Emitter) -> SSAValue:
        axes = op.axes
        begin = [axis.pad_begin for axis in axes]
        end = [axis.pad_end for axis in axes]
        window: list[Size | None] = [None] * len(axes)
        if target.symmetric_pads and begin != end:
            # the smaller pad is dropped from both ends, and the rest sliced off
            begin = end = [min(axis.pads) for axis in axes]
            window = [x for x in shape_of(op.diff_src)[2:] if isinstance(x, int)]
        value = emit(
            onnx.ConvTransposeOp(
                op.diff_dst,
                op.weights,
                group=op.value("groups"),
                strides=op.value("strides"),
                dilations=op.value("dilations"),
                pads=[*begin, *end],
                output_padding=op.value("residue"),
            )
        )
        skipped = [axis.pad_begin - b for axis, b in zip(axes, begin, strict=True)]
        return take_static_window(emit, value, skipped, window)
