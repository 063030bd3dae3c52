"""The canonical gradient of a convolution with respect to its weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.grad.geometry import (
    ConvAxis,
    axis_letters,
    check_consistent,
    check_fits,
    conv_axes,
    window_attributes,
)
from dialects.grad.layout import DATA_LAYOUTS
from dialects.grad.reference import conv_weights as reference
from dialects.grad.tunable import SAMPLE_SIZE
from dialects.grad.windowed import WindowedGradOp
from dialects.support import layouts, shapes
from dialects.support.attributes import INT, INTS, required, word
from dialects.support.diagnostics import GradcError, violation
from dialects.support.documented_op import build, documented_op
from dialects.support.shapes import element_type_of, tensor_type


@documented_op
class ConvBackwardWeightsOp(WindowedGradOp):
    """Gradient of a convolution with respect to its weights.

    diff_weights[o, j, k] = sum over n, y of diff_dst[n, o, y] src[n, c, y s - pb + k d], with c the j-th
    channel of o's group and positions outside src left out.

    src (N, C, X...) and diff_dst (N, O, Y...) have their axes in the order of `layout`; diff_weights is (O, C
    / groups, K...) with K... = `kernel`. For a transposed convolution the roles are exchanged: src is its
    diff_dst, and diff_dst its src.

    C1 ranks of 3 to 5, lists of one entry per spatial axis; C2 positive kernel, strides and dilations,
    non-negative pads; C3 channels are known, groups divides those of src and of diff_dst; C4 (X + pb + pe
    - Ke) div s + 1 == Y on every axis; C5 src and diff_dst have one dtype and one batch.
    """

    name = "grad.conv_backward_weights"

    BY_PARTS: ClassVar = True

    LAYOUT_PORTS: ClassVar = ("src", "diff_dst")

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    kernel = required(INTS)
    strides = required(INTS)
    dilations = required(INTS)
    pads_begin = required(INTS)
    pads_end = required(INTS)
    groups = required(INT)
    layout = required(word(*DATA_LAYOUTS))
    diff_weights = result_def(TensorType)

    @property
    def axes(self) -> tuple[ConvAxis, ...]:
        return conv_axes(self.kernel, self.strides, self.dilations, self.pads_begin, self.pads_end)

    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        (_, c, *xs), (_, o, *ys) = map(self.channels_first, self.operands)
        assert isinstance(c, int)
        assert isinstance(o, int)
        return self.samples_of([c, o], [_sample(*row) for row in zip(self.axes, xs, ys, strict=True)])

    def flops(self) -> int | None:
        positions = shapes.static(self.channels_first(self.diff_dst))
        weights = shapes.static_shape(self.diff_weights)
        if positions is None or weights is None:
            return None
        return 2 * positions[0] * prod(positions[2:]) * prod(weights)

    def _infer(self) -> tuple[TensorType, ...]:
        self.check_operands()
        self.check_lists("pads_end")
        (_, channels, *src), (_, out_channels, *dst) = map(self.channels_first, self.operands)
        per_group = self._per_group("src", channels)
        self._per_group("diff_dst", out_channels)
        for letter, axis, x, y in zip(axis_letters(self.spatial_rank), self.axes, src, dst, strict=True):
            _check_sizes(letter, axis, x, y)
        return (tensor_type(element_type_of(self.src), (out_channels, per_group, *self.kernel)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, diff_dst = (layouts.transpose(array, self.layout, "NCX") for array in operands)
        steps = (self.strides, self.dilations, self.pads_begin, self.groups)
        return (reference.conv_backward_weights(src, diff_dst, self.kernel, *steps),)

    def _per_group(self, port: str, channels: object) -> int:
        if not isinstance(channels, int) or channels < 1:
            given = "unknown" if channels is None else channels
            raise violation(f"channels of {port}", given=given, expected="a known, positive number")
        if self.groups < 1 or channels % self.groups:
            expected = f"a divisor of {channels}, the channels of {port}"
            raise violation("groups", given=self.groups, expected=expected)
        return channels // self.groups


def _sample(axis: ConvAxis, x: object, y: object) -> tuple[int, int]:
    """Return static sizes X and Y that fit the window and agree with the known ones."""
    window, pads = axis.window, sum(axis.pads)
    if isinstance(x, int):
        return x, (x + pads - window.extent) // window.stride + 1
    size = y if isinstance(y, int) else SAMPLE_SIZE
    return max(window.full_size(size) - pads, 1), size


def _check_sizes(letter: str, axis: ConvAxis, x: object, y: object) -> None:
    if not isinstance(x, int):
        return
    try:
        check_fits(axis.window, x, axis.pads)
        if isinstance(y, int):
            check_consistent(axis.window, x, y, axis.pads)
    except GradcError as error:
        raise violation(f"axis {letter}: {error.diagnostic.message}") from None


def conv_backward_weights(
    src: SSAValue, diff_dst: SSAValue, axes: Sequence[ConvAxis], groups: int, layout: str
) -> ConvBackwardWeightsOp:
    kernel = [axis.window.kernel for axis in axes]
    attributes = window_attributes(axes) | {"kernel": kernel, "groups": groups, "layout": layout}
    return build(ConvBackwardWeightsOp, (src, diff_dst), attributes)
