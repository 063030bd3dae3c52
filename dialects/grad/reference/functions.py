"""Interpreter functions of the grad dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.grad.conv import (
    ConvBackwardDataOp,
    ConvTransposeBackwardDataOp,
    GradConvOp,
    TakeWindowOp,
)
from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.grad.reference import conv, resize
from dialects.grad.reference.conv_weights import conv_backward_weights
from dialects.grad.reference.pool import avg_pool_backward, max_pool_backward
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.stop_gradient import StopGradientOp
from dialects.support import layouts


@register_impls
class GradFunctions(InterpreterFunctions):
    """Values are numpy arrays; each op computes in float64 and rounds once to its dtype."""

    @impl(ConvBackwardDataOp)
    def conv_backward_data(self, interpreter: Interpreter, op: ConvBackwardDataOp, args: tuple[Any, ...]):
        rows = zip(op.axes, _spatial(op, args[0]), op.residue, strict=True)
        sizes = [axis.window.input_size(y, *axis.pads, r) for axis, y, r in rows]
        return (_convolution(conv.conv_backward_data, op, args, sizes),)

    @impl(ConvTransposeBackwardDataOp)
    def conv_transpose_backward_data(
        self, interpreter: Interpreter, op: ConvTransposeBackwardDataOp, args: tuple[Any, ...]
    ):
        rows = zip(op.axes, _spatial(op, args[0]), strict=True)
        sizes = [axis.window.output_size(y, *axis.pads) for axis, y in rows]
        return (_convolution(conv.conv_transpose_backward_data, op, args, sizes),)

    @impl(ConvBackwardWeightsOp)
    def conv_backward_weights(
        self, interpreter: Interpreter, op: ConvBackwardWeightsOp, args: tuple[Any, ...]
    ):
        order = layouts.permutation(op.layout, "NCX", op.spatial_rank)
        src, diff_dst = (array.transpose(order) for array in args)
        lists = (op.kernel, op.strides, op.dilations, op.pads_begin)
        return (conv_backward_weights(src, diff_dst, *lists, op.groups).astype(src.dtype),)

    @impl(MaxPoolBackwardOp)
    def max_pool_backward(self, interpreter: Interpreter, op: MaxPoolBackwardOp, args: tuple[Any, ...]):
        order = layouts.permutation(op.layout, "NCX", op.spatial_rank)
        src, diff_dst = (array.transpose(order) for array in args)
        found = max_pool_backward(src, diff_dst.astype(np.float64), op.windows, op.pads_begin)
        return (found.transpose(layouts.permutation("NCX", op.layout, op.spatial_rank)).astype(src.dtype),)

    @impl(AvgPoolBackwardOp)
    def avg_pool_backward(self, interpreter: Interpreter, op: AvgPoolBackwardOp, args: tuple[Any, ...]):
        (diff_dst,) = (
            array.transpose(layouts.permutation(op.layout, "NCX", op.spatial_rank)) for array in args
        )
        rows = zip(op.axes, diff_dst.shape[2:], op.residue, strict=True)
        sizes = [axis.window.input_size(y, *axis.pads, rest) for axis, y, rest in rows]
        wide = diff_dst.astype(np.float64)
        found = avg_pool_backward(wide, sizes, op.windows, op.pads_begin, exclude_pad=False)
        back = layouts.permutation("NCX", op.layout, op.spatial_rank)
        return (found.transpose(back).astype(diff_dst.dtype),)

    @impl(StopGradientOp)
    def stop_gradient(self, interpreter: Interpreter, op: StopGradientOp, args: tuple[Any, ...]):
        return args

    @impl(TakeWindowOp)
    def take_window(self, interpreter: Interpreter, op: TakeWindowOp, args: tuple[Any, ...]):
        data, begin, size = args
        return (conv.take_window(data, begin.tolist(), size.tolist(), op.axes),)

    @impl(ResizeBackwardOp)
    def resize_backward(self, interpreter: Interpreter, op: ResizeBackwardOp, args: tuple[Any, ...]):
        (diff_dst,) = args
        steps = zip(op.step_numerators, op.step_denominators, strict=True)
        return (_resize(op, diff_dst, op.input_sizes, [Fraction(n, q) for n, q in steps]),)

    @impl(ResizeBackwardDynamicOp)
    def resize_backward_dynamic(
        self, interpreter: Interpreter, op: ResizeBackwardDynamicOp, args: tuple[Any, ...]
    ):
        diff_dst, sizes, numerators, denominators = args
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        steps = [Fraction(n, q) if q else Fraction(0) for n, q in pairs]  # without positions no step is used
        return (_resize(op, diff_dst, sizes.tolist(), steps),)


def _spatial(op: GradConvOp, array: np.ndarray) -> list[int]:
    return [array.shape[axis] for axis in op.spatial_axes]


def _convolution(
    reference: Callable[..., np.ndarray], op: GradConvOp, args: tuple[Any, ...], sizes: Sequence[int]
) -> np.ndarray:
    """Call a channels-first reference, transposing from and to the op's layout."""
    diff_dst, weights = args
    layout, n = op.layout, op.spatial_rank
    result = reference(
        diff_dst.transpose(layouts.permutation(layout, "NCX", n)),
        weights,
        sizes,
        op.strides,
        op.dilations,
        op.pads_begin,
        op.groups,
    )
    return result.transpose(layouts.permutation("NCX", layout, n)).astype(diff_dst.dtype)


def _resize(op: Any, diff_dst: np.ndarray, sizes: Any, steps: list[Fraction]) -> np.ndarray:
    axes = [
        resize.Axis(axis, x, _coordinate(op.coordinates, step), op.interpolation)
        for axis, x, step in zip(op.axes, sizes, steps, strict=True)
    ]
    return resize.resize_backward(diff_dst, axes).astype(diff_dst.dtype)


def _coordinate(coordinates: str, step: Fraction) -> resize.Coordinate:
    return resize.half_pixel(step) if coordinates == "half_pixel" else resize.corner(step)
