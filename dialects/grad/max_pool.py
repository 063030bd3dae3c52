"""Canonical gradient of max pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.grad.geometry import Window
from dialects.grad.layout import DATA_LAYOUTS
from dialects.grad.reference import pool
from dialects.grad.tunable import SAMPLE_SIZE
from dialects.grad.windowed import WindowedGradOp, first_known
from dialects.support import layouts, shapes
from dialects.support.attributes import INTS, required, word
from dialects.support.documented_op import build, documented_op
from dialects.support.shapes import element_type_of, tensor_type


@documented_op
class MaxPoolBackwardOp(WindowedGradOp):
    """Gradient of max pooling.

    diff_src[n, c, x] = sum of diff_dst[n, c, y] over the windows y whose first maximum is src[n, c, x]: the
    first of the positions y s - pb + k d, in row-major order, that no other exceeds. Positions outside src
    are -inf, and NaN exceeds nothing.

    src and diff_src (N, C, X...) and diff_dst (N, C, Y...) have their axes in the order of `layout`. The
    sizes of diff_dst determine how far the windows reach beyond the end of src.

    C1 ranks of 3 to 5, lists of one entry per spatial axis; C2 positive kernel, strides and dilations,
    non-negative pads; C3 src and diff_dst have one dtype, one batch and the same channels.
    """

    name = "grad.max_pool_backward"

    LAYOUT_PORTS: ClassVar = ("src", "diff_dst", "diff_src")

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    kernel = required(INTS)
    strides = required(INTS)
    dilations = required(INTS)
    pads_begin = required(INTS)
    layout = required(word(*DATA_LAYOUTS))
    diff_src = result_def(TensorType)

    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        (_, c, *xs), (_, o, *ys) = map(self.channels_first, self.operands)
        rows = zip(self.windows, self.pads_begin, xs, ys, strict=True)
        return self.samples_of([first_known([c, o])] * 2, [_sample(*row) for row in rows])

    def flops(self) -> int | None:
        """Count one comparison per tap of each window."""
        windows = shapes.static_shape(self.diff_dst)
        return None if windows is None else prod(windows) * prod(self.kernel)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, diff_dst = (layouts.transpose(array, self.layout, "NCX") for array in operands)
        found = pool.max_pool_backward(src, diff_dst, self.windows, self.pads_begin)
        return (layouts.transpose(found, "NCX", self.layout),)

    def _infer(self) -> tuple[TensorType, ...]:
        self.check_operands()
        self.check_lists()
        self.check_same("channels", 1)
        src, dst = map(self.channels_first, self.operands)
        known = (*shapes.merge(src[:2], dst[:2]), *src[2:])
        return (tensor_type(element_type_of(self.src), layouts.reorder(known, "NCX", self.layout)),)


def _sample(window: Window, begin: int, x: object, y: object) -> tuple[int, int]:
    """Return consistent X and Y for what is known of them."""
    if isinstance(y, int):
        return x if isinstance(x, int) else max(1, window.full_size(y) - begin), y
    size = x if isinstance(x, int) else SAMPLE_SIZE
    return size, max(1, (size + begin - window.extent) // window.stride + 1)


def max_pool_backward(
    src: SSAValue, diff_dst: SSAValue, windows: Sequence[Window], begin: Sequence[int], layout: str
) -> MaxPoolBackwardOp:
    attributes = {
        "kernel": [window.kernel for window in windows],
        "strides": [window.stride for window in windows],
        "dilations": [window.dilation for window in windows],
        "pads_begin": list(begin),
        "layout": layout,
    }
    return build(MaxPoolBackwardOp, (src, diff_dst), attributes)
