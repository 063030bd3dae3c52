"""Canonical convolution gradients: data in NCX or NXC, ONNX's weight order, explicit pads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.grad.geometry import ConvAxis, axis_letters, check_fits, conv_axes, window_attributes
from dialects.grad.grad_op import GradOp, diff_src_sizes
from dialects.grad.layout import DATA_LAYOUTS, LayoutOp
from dialects.grad.reference import conv
from dialects.grad.resize import check_distinct
from dialects.support import layouts, shapes
from dialects.support.attributes import INT, INTS, required, word
from dialects.support.diagnostics import violation
from dialects.support.documented_op import build, documented_op
from dialects.support.dtypes import name_of
from dialects.support.interfaces import InfersOperands
from dialects.support.shapes import Dim, Shape, element_type_of, shape_of, tensor_type


class GradConvOp(LayoutOp, InfersOperands):
    """Base of both data gradients of convolutions.

    diff_dst (N, channels, Y...) and weights are of one float dtype; strides, dilations, pads_begin and
    pads_end have one entry per spatial axis. The weights' shape is known at compile time.

    `layout` is NCX, as written here, or NXC; `batch`, `channels` and `spatial` read a shape in either.
    """

    BY_PARTS: ClassVar = True

    REFERENCE: ClassVar[Callable[..., np.ndarray]]
    """Takes diff_dst and weights in NCX, the sizes of the result, and the attributes."""

    diff_dst = operand_def(TensorType)
    weights = operand_def(TensorType)
    strides = required(INTS)
    dilations = required(INTS)
    pads_begin = required(INTS)
    pads_end = required(INTS)
    groups = required(INT)
    layout = required(word(*DATA_LAYOUTS))
    diff_src = result_def(TensorType)

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """(channels of diff_dst, channels of diff_src, K...), one of them per group."""
        static = shapes.static_shape(self.weights)
        if static is None:
            raise violation(
                "weights shape", given=shapes.show(shape_of(self.weights)), expected="known sizes"
            )
        return static

    @property
    def axes(self) -> tuple[ConvAxis, ...]:
        return conv_axes(
            self.weights_shape[2:],
            self.strides,
            self.dilations,
            self.pads_begin,
            self.pads_end,
        )

    def check_lists(self, names: Sequence[str]) -> None:
        """Check C1 (ranks, kernels with taps, one list entry per spatial axis) and C2 (legal values)."""
        n = self.spatial_rank
        if n not in (1, 2, 3) or len(self.weights_shape) != n + 2:
            raise violation(
                "ranks of diff_dst and weights",
                given=f"{n + 2} and {len(self.weights_shape)}",
                expected="equal, 3 to 5",
            )
        for letter, k in zip(axis_letters(n), self.weights_shape[2:], strict=True):
            if k < 1:
                raise violation(f"weights axis {letter}", given=k, expected="a positive size")
        for name in names:
            low = 1 if name in ("strides", "dilations") else 0
            values = self.value(name)
            if len(values) != n or any(v < low for v in values):
                raise violation(name, given=list(values), expected=f"{n} values >= {low}")

    def check_channels(self, given: Dim, expected: int) -> None:
        """Check C3: channels of diff_dst match the weights, groups divide them."""
        if not shapes.same_dim(given, expected):
            raise violation("channels of diff_dst", given=given, expected=expected)
        if self.groups < 1 or self.weights_shape[0] % self.groups:
            raise violation(
                "groups",
                given=self.groups,
                expected=f"a divisor of {self.weights_shape[0]}",
            )

    @property
    @abstractmethod
    def out_channels(self) -> int:
        """The channels of diff_dst that the weights require."""

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        diff_dst, weights = layouts.transpose(operands[0], self.layout, "NCX"), operands[1]
        steps = (self.strides, self.dilations, self.pads_begin, self.groups)
        sizes = self.result_sizes(diff_dst.shape[2:])
        return (layouts.transpose(self.REFERENCE(diff_dst, weights, sizes, *steps), "NCX", self.layout),)

    @abstractmethod
    def result_sizes(self, sizes: Sequence[int]) -> list[int]:
        """Return the spatial sizes of diff_src for those of diff_dst."""

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        shape = (None, self.out_channels, *(None,) * self.spatial_rank)
        yield self.diff_dst, layouts.reorder(shape, "NCX", self.layout)

    def diff_src_type(self, channels: Dim, spatial: Sequence[Dim]) -> tuple[TensorType, ...]:
        """Return the type of diff_src in the op's layout; check C6: diff_dst and weights have one dtype."""
        data, weights = (name_of(element_type_of(value)) for value in (self.diff_dst, self.weights))
        if data != weights:
            raise violation("dtypes of diff_dst and weights", given=f"{data} and {weights}", expected="equal")
        shape = layouts.reorder((self.batch, channels, *spatial), "NCX", self.layout)
        return (tensor_type(element_type_of(self.diff_dst), shape),)


@documented_op
class ConvBackwardDataOp(GradConvOp):
    """Gradient of a convolution with respect to its input.

    diff_src[n, c, x] = sum over o, k of diff_dst[n, o, y] weights[o, j, k], with x + pb - k d = y s
    on every axis, 0 <= y < Y, and c the j-th channel of o's group.

    weights (O, C / groups, K...); diff_src (N, C, X...) with X = s (Y - 1) + Ke - pb - pe + r and
    r = residue in [0, s).

    C1 ranks and list lengths; C2 positive strides and dilations, non-negative pads and residue;
    C3 O of weights is the channel count of diff_dst and divisible by groups; C4 r < s; C5 X >= 1;
    C6 diff_dst and weights have one dtype.
    """

    name = "grad.conv_backward_data"

    residue = required(INTS)

    @property
    def out_channels(self) -> int:
        return self.weights_shape[0]

    REFERENCE = staticmethod(conv.conv_backward_data)

    def result_sizes(self, sizes: Sequence[int]) -> list[int]:
        rows = zip(self.axes, sizes, self.residue, strict=True)
        return [axis.window.input_size(y, *axis.pads, rest) for axis, y, rest in rows]

    def _infer(self) -> tuple[TensorType, ...]:
        self.check_lists(("strides", "dilations", "pads_begin", "pads_end", "residue"))
        self.check_channels(self.channels, self.out_channels)
        sizes = diff_src_sizes(self.axes, self.spatial(self.diff_dst), self.residue)
        return self.diff_src_type(self.weights_shape[1] * self.groups, sizes)


@documented_op
class ConvTransposeBackwardDataOp(GradConvOp):
    """Gradient of a transposed convolution with respect to its input: a forward convolution.

    diff_src[n, c, x] = sum over j, k of diff_dst[n, o, x s - pb + k d] weights[c, j, k], with o the
    j-th channel of c's group and positions outside diff_dst counting as 0.

    weights (C, O / groups, K...); diff_src (N, C, X...) with X = (Y + pb + pe - Ke) div s + 1.

    C1 ranks and list lengths; C2 positive strides and dilations, non-negative pads; C3 O / groups
    of weights times groups is the channel count of diff_dst, groups divides C; C4 Ke <= Y + pb + pe;
    C6 diff_dst and weights have one dtype.
    """

    name = "grad.conv_transpose_backward_data"

    @property
    def out_channels(self) -> int:
        return self.weights_shape[1] * self.groups

    REFERENCE = staticmethod(conv.conv_transpose_backward_data)

    def result_sizes(self, sizes: Sequence[int]) -> list[int]:
        return [axis.window.output_size(y, *axis.pads) for axis, y in zip(self.axes, sizes, strict=True)]

    def _infer(self) -> tuple[TensorType, ...]:
        self.check_lists(("strides", "dilations", "pads_begin", "pads_end"))
        self.check_channels(self.channels, self.out_channels)
        spatial = self.spatial(self.diff_dst)
        for axis, y in zip(self.axes, spatial, strict=True):
            if isinstance(y, int):
                check_fits(axis.window, y, axis.pads)
        sizes = [axis.forward_size(y) for axis, y in zip(self.axes, spatial, strict=True)]
        return self.diff_src_type(self.weights_shape[0], sizes)


@documented_op
class TakeWindowOp(GradOp):
    """A slice with dynamic offset and size along some axes, zero outside the data.

    result[.., x, ..] = data[.., x + begin, ..] where 0 <= x + begin < L, else 0, for 0 <= x < size, on each
    of `axes`; begin and size are int64 of one entry per axis, begin >= 0.

    It implements a dynamic `dst_shape`: the gradient over the full extent, whose size is static, followed by
    the window that the pads and the requested size leave. So the static op needs no dynamic counterpart.

    C1 begin and size are 1-D with one entry per axis; C2 axes are distinct and lie in data.
    """

    name = "grad.take_window"

    BY_PARTS: ClassVar = True

    data = operand_def(TensorType)
    begin = operand_def(TensorType)
    size = operand_def(TensorType)
    axes = required(INTS)
    result = result_def(TensorType)

    def _infer(self) -> tuple[TensorType, ...]:
        shape = list(shape_of(self.data))
        axes = self.axes
        check_distinct(axes, len(shape))
        for port in (self.begin, self.size):
            if not shapes.compatible(shape_of(port), (len(axes),)):
                raise violation(
                    "shape of begin and size",
                    given=shapes.show(shape_of(port)),
                    expected=f"[{len(axes)}]",
                )
        for axis in axes:
            shape[axis] = None
        return (tensor_type(element_type_of(self.data), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        data, begin, size = operands
        return (conv.take_window(data, begin.tolist(), size.tolist(), self.axes),)


def conv_backward_data(
    diff_dst: SSAValue,
    weights: SSAValue,
    axes: Sequence[ConvAxis],
    residue: Sequence[int],
    groups: int,
    layout: str,
) -> ConvBackwardDataOp:
    attributes = window_attributes(axes) | {"residue": residue, "groups": groups, "layout": layout}
    return build(ConvBackwardDataOp, (diff_dst, weights), attributes)


def conv_transpose_backward_data(
    diff_dst: SSAValue, weights: SSAValue, axes: Sequence[ConvAxis], groups: int, layout: str
) -> ConvTransposeBackwardDataOp:
    attributes = window_attributes(axes) | {"groups": groups, "layout": layout}
    return build(ConvTransposeBackwardDataOp, (diff_dst, weights), attributes)


def take_window(data: SSAValue, begin: SSAValue, size: SSAValue, axes: Sequence[int]) -> TakeWindowOp:
    return build(TakeWindowOp, (data, begin, size), {"axes": axes})
