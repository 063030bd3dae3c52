"""Interpreter functions of the grad dialect."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp, TakeWindowOp
from dialects.grad.reference import conv, resize
from dialects.grad.reference.resize import HALF
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp


@register_impls
class GradFunctions(InterpreterFunctions):
    """Values are numpy arrays; each op computes in float64 and rounds once to its dtype."""

    @impl(ConvBackwardDataOp)
    def conv_backward_data(self, interpreter: Interpreter, op: ConvBackwardDataOp, args: tuple[Any, ...]):
        diff_dst, weights = args
        sizes = [
            axis.window.input_size(y, *axis.pads, r)
            for axis, y, r in zip(op.axes, diff_dst.shape[2:], op.value("residue"), strict=True)
        ]
        result = conv.conv_backward_data(
            diff_dst,
            weights,
            sizes,
            op.value("strides"),
            op.value("dilations"),
            op.value("pads_begin"),
            op.value("groups"),
        )
        return (result.astype(diff_dst.dtype),)

    @impl(ConvTransposeBackwardDataOp)
    def conv_transpose_backward_data(
        self, interpreter: Interpreter, op: ConvTransposeBackwardDataOp, args: tuple[Any, ...]
    ):
        diff_dst, weights = args
        sizes = [
            axis.window.output_size(y, *axis.pads)
            for axis, y in zip(op.axes, diff_dst.shape[2:], strict=True)
        ]
        result = conv.conv_transpose_backward_data(
            diff_dst,
            weights,
            sizes,
            op.value("strides"),
            op.value("dilations"),
            op.value("pads_begin"),
            op.value("groups"),
        )
        return (result.astype(diff_dst.dtype),)

    @impl(TakeWindowOp)
    def take_window(self, interpreter: Interpreter, op: TakeWindowOp, args: tuple[Any, ...]):
        data, begin, size = args
        return (conv.take_window(data, begin.tolist(), size.tolist()),)

    @impl(ResizeBackwardOp)
    def resize_backward(self, interpreter: Interpreter, op: ResizeBackwardOp, args: tuple[Any, ...]):
        (diff_dst,) = args
        steps = zip(op.value("step_numerators"), op.value("step_denominators"), strict=True)
        return (_resize(op, diff_dst, op.value("input_sizes"), [Fraction(n, q) for n, q in steps]),)

    @impl(ResizeBackwardDynamicOp)
    def resize_backward_dynamic(
        self, interpreter: Interpreter, op: ResizeBackwardDynamicOp, args: tuple[Any, ...]
    ):
        diff_dst, sizes, numerators, denominators = args
        steps = [Fraction(int(n), int(q)) for n, q in zip(numerators, denominators, strict=True)]
        return (_resize(op, diff_dst, sizes.tolist(), steps),)


def _resize(op: Any, diff_dst: np.ndarray, sizes: Any, steps: list[Fraction]) -> np.ndarray:
    axes = [
        resize.Axis(axis, x, _coordinate(op.value("coordinates"), step), op.value("interpolation"))
        for axis, x, step in zip(op.value("axes"), sizes, steps, strict=True)
    ]
    return resize.resize_backward(diff_dst, axes).astype(diff_dst.dtype)


def _coordinate(coordinates: str, step: Fraction):
    if coordinates == "half_pixel":
        return lambda y: (y + HALF) * step - HALF
    return lambda y: y * step
