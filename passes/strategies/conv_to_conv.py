"""conv-to-conv: both convolution gradients as a forward convolution.

1. ConvTransposeBackwardData *is* a forward convolution: Conv with the weights as they stand.
2. ConvBackwardData of stride 1: with x = y - pb + k d, the gradient is the correlation of diff_dst
   with the kernel reversed, k' = K - 1 - k:

       diff_src[x] = sum over k' of diff_dst[x + pb - (Ke - 1) + k' d] flipped[k'],

   a Conv with pads Ke - 1 - pb and Ke - 1 - pe, and with input and output channels of the weights
   swapped within each group.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from passes.strategies.base import Strategy, no_kernel
from passes.support.rewriting import Emitter
from passes.support.tensors import flip_spatial, swap_channels
from passes.target import Target


class ConvToConv(Strategy):
    """Conv, with flipped weights for the gradient of a convolution of stride 1."""

    name: ClassVar[str] = "conv-to-conv"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)

    def refuses(self, op: ConvBackwardDataOp | ConvTransposeBackwardDataOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.ConvOp):
            return reason
        if isinstance(op, ConvTransposeBackwardDataOp):
            return None
        for letter, axis in zip(axis_letters(len(op.axes)), op.axes, strict=True):
            if axis.window.stride != 1:
                return f"stride {axis.window.stride} on axis {letter}: only stride 1 is a convolution"
            if max(axis.pads) >= axis.window.extent:
                return (
                    f"pads {axis.pads} on axis {letter} reach the kernel extent {axis.window.extent}: "
                    "the convolution would need negative pads"
                )
        return None

    def emit(
        self, op: ConvBackwardDataOp | ConvTransposeBackwardDataOp, target: Target, emit: Emitter
    ) -> SSAValue:
        begin, end = list(op.value("pads_begin")), list(op.value("pads_end"))
        weights: SSAValue = op.weights
        if isinstance(op, ConvBackwardDataOp):
            weights = flip_spatial(emit, swap_channels(emit, weights, op.value("groups")))
            begin = [axis.window.extent - 1 - axis.pad_begin for axis in op.axes]
            end = [axis.window.extent - 1 - axis.pad_end for axis in op.axes]
        return emit(
            onnx.ConvOp(
                op.diff_dst,
                weights,
                group=op.value("groups"),
                strides=op.value("strides"),
                dilations=op.value("dilations"),
                pads=[*begin, *end],
            )
        )
