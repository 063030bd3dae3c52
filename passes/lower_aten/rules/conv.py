"""Convolutions, and their gradients by the VJP rules of Conv and ConvTranspose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.dialects.builtin import f64

from dialects.grad.geometry import ConvAxis, conv_axes
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.support.shapes import static
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back
from passes.lower_aten.double import convolve, convolve_transposed
from passes.lower_aten.dynamic_groups import GroupedConvolution, convolution_of_groups
from passes.lower_aten.windows import per_axis, sizes_of


@dataclass(frozen=True)
class Convolution:
    """The attributes of a convolution over n spatial axes."""

    strides: Sequence[int]
    pads: Sequence[int]
    dilations: Sequence[int]
    beyond: Sequence[int]
    """Elements that a transposed convolution adds at the end of each axis."""
    groups: int
    is_transposed: bool

    @classmethod
    def of(cls, f: Call) -> Convolution:
        n = f.weight.rank - 2
        lists = (f.stride, f.padding, f.dilation, f.output_padding)
        strides, pads, dilations, beyond = (per_axis(f, given, n) for given in lists)
        if not isinstance(f.groups, int):
            hint = "a dim of fixed size"
            raise f.refusal(
                "groups of a transposed convolution", given=f.groups, expected="a fixed number", hint=hint
            )
        return cls(strides, pads, dilations, beyond, f.groups, f.transposed)

    def apply(self, x: Value, weight: Value, bias: Value | None) -> Value:
        """Emit the op for a batch."""
        attributes = {"strides": self.strides, "dilations": self.dilations, "group": self.groups}
        if x.dtype == f64 and static(weight.shape) is not None:
            return _plus(self._in_double(x, weight), bias)
        if not self.is_transposed:
            pads = [*self.pads, *self.pads]
            return x.apply(onnx.ConvOp, weight, bias, pads=pads, **attributes)
        if self._is_plain:
            pads, beyond = [*self.pads, *self.pads], self.beyond if any(self.beyond) else None
            return x.apply(onnx.ConvTransposeOp, weight, bias, pads=pads, output_padding=beyond, **attributes)
        return self._transpose_beyond_stride(x, weight, bias, attributes)

    def _transpose_beyond_stride(
        self, x: Value, weight: Value, bias: Value | None, attributes: Mapping[str, object]
    ) -> Value:
        """Emit a transposed convolution with more elements at the end than a stride has: fewer are cropped,
        or zeros are added."""
        pads, zeros = self._end_pads()
        y = x.apply(onnx.ConvTransposeOp, weight, None, pads=pads, **attributes)
        return _plus(_extend(y, zeros), bias)

    @property
    def _is_plain(self) -> bool:
        """True if ONNX's `output_padding` adds the elements at the end."""
        return all(added < stride for added, stride in zip(self.beyond, self.strides, strict=True))

    def _end_pads(self) -> tuple[list[int], list[int]]:
        """Return the pads of a transposed convolution that crops fewer elements, and the zeros to add."""
        sides = list(zip(self.pads, self.beyond, strict=True))
        pads = [*self.pads, *(max(pad - added, 0) for pad, added in sides)]
        return pads, [max(added - pad, 0) for pad, added in sides]

    def _axes(self, weight: Value, end: Sequence[int]) -> Sequence[ConvAxis]:
        kernel = [int(size) for size in static(weight.shape[2:]) or ()]
        return conv_axes(kernel, self.strides, self.dilations, self.pads, end)

    def _in_double(self, x: Value, weight: Value) -> Value:
        if not self.is_transposed:
            return convolve(x, weight, self._axes(weight, self.pads), self.groups)
        pads, zeros = self._end_pads()
        axes = self._axes(weight, pads[len(zeros) :])
        return _extend(convolve_transposed(x, weight, axes, self.groups), zeros)

    def pull_back(self, x: Value, weight: Value, g: Value, wanted: Sequence[int]) -> list[Value]:
        """Return the gradients of data (0) and weights (1)."""
        if self.is_transposed and x.dtype == f64 and static(weight.shape) is not None:
            found = {0: self._pull_back_transposed(g, weight)} if 0 in wanted else {}
            if 1 in wanted:
                (found[1],) = self._pull_back(x, weight, g, [1])
            return [found[index] for index in wanted]
        return self._pull_back(x, weight, g, wanted)

    def _pull_back_transposed(self, g: Value, weight: Value) -> Value:
        pads, zeros = self._end_pads()
        axes = self._axes(weight, pads[len(zeros) :])
        return convolve(_extend(g, [-count for count in zeros]), weight, axes, self.groups)

    def _pull_back(self, x: Value, weight: Value, g: Value, wanted: Sequence[int]) -> list[Value]:
        attributes = {"strides": self.strides, "dilations": self.dilations, "group": self.groups}
        if not self.is_transposed:
            y = x.apply(onnx.ConvOp, weight, None, pads=[*self.pads, *self.pads], **attributes)
            return pull_back(y, g, wanted)
        pads, zeros = self._end_pads()
        y = x.apply(onnx.ConvTransposeOp, weight, None, pads=pads, **attributes)
        return pull_back(y, _extend(g, [-count for count in zeros]), wanted)


def _plus(y: Value, bias: Value | None) -> Value:
    return y if bias is None else y + bias.unsqueeze(range(1, y.rank - 1))


def _extend(y: Value, zeros: Sequence[int]) -> Value:
    """Add zeros at the end of the spatial axes; a negative number crops."""
    return y.apply(onnx.PadOp, y.e.ints([0] * (4 + len(zeros)) + list(zeros))) if any(zeros) else y


def convolution(f: Call, e: Builder) -> Value:
    if isinstance(f.groups, int) or f.transposed:
        return Convolution.of(f).apply(f.input, f.weight, f.bias)
    return _plus(_groups(f, f.shape).forward(f.input, f.weight), f.bias)


def _groups(f: Call, y: Sequence[Form]) -> GroupedConvolution:
    n = f.weight.rank - 2
    strides, pads, dilations = (per_axis(f, given, n) for given in (f.stride, f.padding, f.dilation))
    kernel = per_axis(f, sizes_of(f.weight)[2:], n)
    return convolution_of_groups(f, conv_axes(kernel, strides, dilations, pads, pads), y)


def convolution_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """Gradients of data, weights and bias, as `output_mask` asks for them."""
    wanted = [index for index in (0, 1) if f.output_mask[index] and f.is_read(index)]
    found: list[Value | None] = [None, None, None]
    for index, gradient in zip(wanted, _gradients(f, wanted) if wanted else (), strict=True):
        found[index] = gradient
    if f.output_mask[2] and f.is_read(2):
        found[2] = f.grad_output.sum_axes([0, *range(2, f.input.rank)])
    return found


def _gradients(f: Call, wanted: Sequence[int]) -> list[Value]:
    if isinstance(f.groups, int) or f.transposed:
        return Convolution.of(f).pull_back(f.input, f.weight, f.grad_output, wanted)
    grouped = _groups(f, sizes_of(f.grad_output))
    return [
        grouped.by_weights(f.input, f.grad_output) if index else grouped.by_data(f.weight, f.grad_output)
        for index in wanted
    ]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "convolution.default": convolution,
        "convolution_backward.default": convolution_backward,
    }
)
