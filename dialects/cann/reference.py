"""Interpreter functions of the cann dialect, from the registered op's formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from dialects.cann.resize import CannResizeOp, ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.grad.reference import resize
from dialects.support import layouts


@register_impls
class CannFunctions(InterpreterFunctions):
    """Values are numpy arrays; each op computes in float64 and rounds once to its result's dtype."""

    @impl(ResizeBilinearV2GradOp)
    def resize_bilinear_v2_grad(
        self, interpreter: Interpreter, op: ResizeBilinearV2GradOp, args: tuple[Any, ...]
    ):
        grads, image = args
        mode = _mode(op.align_corners, op.half_pixel_centers)
        result = _backward(op, grads, image.shape, mode, op.scales)
        return (result.astype(image.dtype),)

    @impl(UpsampleBilinear2dBackwardOp)
    def upsample_bilinear2d_backward(
        self, interpreter: Interpreter, op: UpsampleBilinear2dBackwardOp, args: tuple[Any, ...]
    ):
        (grad_out,) = args
        corners = op.alignCorners
        scales = (op.scalesH, op.scalesW)
        result = _backward(op, grad_out, op.inputSize, _mode(corners, not corners), scales)
        return (result.astype(grad_out.dtype),)


def _mode(align_corners: bool, half_pixel_centers: bool) -> str:
    if align_corners:
        return "align_corners"
    return "half_pixel" if half_pixel_centers else "asymmetric"


def _backward(op: CannResizeOp, grads: np.ndarray, shape: Any, mode: str, scales: Any) -> np.ndarray:
    axes: list[resize.Axis] = []
    for axis, scale in zip(layouts.spatial_axes(op.format, 2), scales, strict=True):
        x, y = shape[axis], grads.shape[axis]
        if scale > 0 and mode != "align_corners":
            coordinate = resize.scale_coordinate(mode, scale)
        else:
            coordinate = resize.size_coordinate(mode, x, y)
        axes.append(resize.Axis(axis, x, coordinate, "linear"))
    return resize.resize_backward(grads, axes)
