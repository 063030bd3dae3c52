"""Canonical gradient of average pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.grad.geometry import ConvAxis, conv_axes, window_attributes
from dialects.grad.grad_op import diff_src_sizes
from dialects.grad.layout import DATA_LAYOUTS, LayoutOp
from dialects.grad.reference import pool
from dialects.grad.tunable import SAMPLE_SIZE
from dialects.grad.windowed import WindowedGradOp, first_known
from dialects.support import layouts, shapes
from dialects.support.attributes import INTS, required, word
from dialects.support.documented_op import build, documented_op
from dialects.support.shapes import element_type_of, tensor_type


@documented_op
class AvgPoolBackwardOp(LayoutOp, WindowedGradOp):
    """Gradient of average pooling; padding counts as part of each window.

    diff_src[n, c, x] = 1 / (product of kernel) times the sum of diff_dst[n, c, y] over all y and k with x +
    pb - k d = y s on every axis.

    For a pool that excludes padding, the lowering first rescales diff_dst by kernel size / elements in the
    window.

    diff_dst (N, C, Y...) and diff_src (N, C, X...) have their axes in the order of `layout`; X = s (Y - 1) +
    Ke - pb - pe + r, and r = residue in [0, s).

    C1 ranks of 3 to 5, lists of one entry per spatial axis; C2 positive kernel, strides and dilations,
    non-negative pads and residue; C3 r < s; C4 X >= 1.
    """

    name = "grad.avg_pool_backward"

    LAYOUT_PORTS: ClassVar = ("diff_dst", "diff_src")

    diff_dst = operand_def(TensorType)
    kernel = required(INTS)
    strides = required(INTS)
    dilations = required(INTS)
    pads_begin = required(INTS)
    pads_end = required(INTS)
    residue = required(INTS)
    layout = required(word(*DATA_LAYOUTS))
    diff_src = result_def(TensorType)

    @property
    def axes(self) -> tuple[ConvAxis, ...]:
        return conv_axes(self.kernel, self.strides, self.dilations, self.pads_begin, self.pads_end)

    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        _, channels, *ys = self.channels_first(self.diff_dst)
        return self.samples_of([first_known([channels])], [(first_known([y], SAMPLE_SIZE),) for y in ys])

    def flops(self) -> int | None:
        windows = shapes.static_shape(self.diff_dst)
        return None if windows is None else prod(windows) * prod(self.kernel)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        diff_dst = layouts.transpose(operands[0], self.layout, "NCX")
        rows = zip(self.axes, diff_dst.shape[2:], self.residue, strict=True)
        sizes = [axis.window.input_size(y, *axis.pads, rest) for axis, y, rest in rows]
        found = pool.avg_pool_backward(diff_dst, sizes, self.windows, self.pads_begin, exclude_pad=False)
        return (layouts.transpose(found, "NCX", self.layout),)

    def _infer(self) -> tuple[TensorType, ...]:
        self.check_operands()
        self.check_lists("pads_end", "residue")
        found = diff_src_sizes(self.axes, self.spatial(self.diff_dst), self.residue)
        shape = layouts.reorder((self.batch, self.channels, *found), "NCX", self.layout)
        return (tensor_type(element_type_of(self.diff_dst), shape),)


def avg_pool_backward(
    diff_dst: SSAValue, axes: Sequence[ConvAxis], residue: Sequence[int], layout: str
) -> AvgPoolBackwardOp:
    kernel = [axis.window.kernel for axis in axes]
    attributes = window_attributes(axes) | {"kernel": kernel, "residue": list(residue), "layout": layout}
    return build(AvgPoolBackwardOp, (diff_dst,), attributes)
