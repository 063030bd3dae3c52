"""VJP rules of convolutions and of their canonical gradients.

A convolution is linear in its data and its weights, and so is each of its gradients: all are expressed by the
convolution and its two gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dialects.grad.conv import conv_backward_data, take_window
from dialects.grad.conv_weights import conv_backward_weights
from dialects.grad.geometry import ConvAxis, conv_axes
from dialects.onednn.windows import same_pads, static_pads
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.shapes import static
from passes.autodiff.common import dynamic_channels, dynamic_kernel_shape
from passes.autodiff.common.dynamic_kernel_shape import DynamicKernel
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, refusal
from passes.builder.tensors import pad_axes
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import Sides, pad_input, same_sides

MakesGradient = Callable[[Sequence[ConvAxis], Sequence[int]], Value]
"""Emits the gradient with respect to an image, for window axes and trailing residues."""


@dataclass(frozen=True)
class Convolution:
    """The windows and groups of a convolution from an image to one output per window.

    For a transposed convolution the image is the result. `sides` are run-time pads that replace those of the
    axes.
    """

    axes: Sequence[ConvAxis]
    groups: int
    sides: Sides | None = None

    def emit_conv(self, image: Value, weights: Value) -> Value:
        """Emit the convolution."""
        known = static(weights.shape[2:]) is not None
        return self._pad_image(image).apply(
            onnx.ConvOp,
            weights,
            kernel_shape=None if known else [a.window.kernel for a in self.axes],
            group=self.groups,
            strides=[a.window.stride for a in self.axes],
            dilations=[a.window.dilation for a in self.axes],
            pads=[a.pad_begin for a in self.axes] + [a.pad_end for a in self.axes],
        )

    def _pad_image(self, image: Value) -> Value:
        e = image.e
        return image if self.sides is None else e(pad_input(image.value, "NCX", self.sides, e.emit))

    def by_image(self, values: Value, weights: Value, like: Value) -> Value:
        """Return the gradient with respect to the image, which has the sizes of `like`."""
        if 0 in weights.shape:
            return values.e.fill_like(0, like)

        def made(axes: Sequence[ConvAxis], residue: Sequence[int]) -> Value:
            if static(weights.shape) is None:
                return dynamic_channels.by_image(values, weights, axes, residue, self.groups)
            op = conv_backward_data(values.value, weights.value, axes, residue, self.groups, "NCX")
            return values.e(values.e.emit(op))

        return self.over_image(values, like, made)

    def over_image(self, values: Value, like: Value, made: MakesGradient) -> Value:
        """Call `made` with window axes and residues for an image with the sizes of `like`, and crop."""
        emit, sizes = values.e.emit, like.shape[2:]
        known = [
            axis.window.residue(size, *axis.pads) if isinstance(size, int) else 0
            for axis, size in zip(self.axes, sizes, strict=True)
        ]
        if self.sides is not None:
            return self._taken(values, like, made)
        rows = zip(self.axes, sizes, values.shape[2:], strict=True)
        open_ = [a.window.stride > 1 and not (isinstance(x, int) and isinstance(y, int)) for a, x, y in rows]
        axes = [_reduce_end_pad(axis) if o else axis for axis, o in zip(self.axes, open_, strict=True)]
        residue = [0 if o else r for r, o in zip(known, open_, strict=True)]
        found = made(axes, residue)
        ends = [2 + i for i, o in enumerate(open_) if o]
        if not ends:
            return found
        begin, size = emit.ints([0] * len(ends)), emit.sizes(like.value, ends)
        return values.e(emit(take_window(found.value, begin, size, ends)))

    def _taken(self, values: Value, like: Value, made: MakesGradient) -> Value:
        """Do the same for run-time pads: crop the gradient over the whole reach of the windows."""
        assert self.sides is not None
        emit, spatial = values.e.emit, range(2, like.rank)
        whole = [ConvAxis(axis.window, 0, 0) for axis in self.axes]
        full = made(whole, [0] * len(whole))
        sizes = emit.sizes(like.value, spatial)
        return values.e(emit(take_window(full.value, self.sides[0], sizes, spatial)))

    def by_weights(self, image: Value, values: Value, weights: Value) -> Value:
        """Return the gradient with respect to the weights, whose shape fixes the channels."""
        if 0 in weights.shape:
            return image.e.fill_like(0, weights)
        channels = static(weights.shape)
        if channels is None:
            seen = self._pad_image(image)
            return dynamic_channels.by_weights(seen, values, weights, self.axes, self.groups)
        seen = self._pad_image(_of_channels(image, channels[1] * self.groups))
        values = _of_channels(values, channels[0])
        made = conv_backward_weights(seen.value, values.value, self.axes, self.groups, "NCX")
        return image.e(image.e.emit(made))


def _of_channels(value: Value, channels: int) -> Value:
    """Return the value with a static channel size in its type."""
    if isinstance(value.shape[1], int):
        return value
    return value.apply(onnx.ReshapeOp, value.e.ints([0, channels, *[0] * (value.rank - 2)]))


def _reduce_end_pad(axis: ConvAxis) -> ConvAxis:
    """Reduce the end padding, so that for any residue less than a stride must be added or cropped."""
    return ConvAxis(axis.window, axis.pad_begin, max(axis.pad_end - (axis.window.stride - 1), 0))


def conv(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    convolution, weights = _convolution(f), _weights(f)
    data = convolution.by_image(g[0], weights, f.x) if f.wants(0) else ZERO
    by_weights = convolution.by_weights(f.x, g[0], weights) if f.wants(1) else ZERO
    return (data, by_weights, _by_bias(f, g[0]))[: len(f.operands)]


def conv_transpose(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of ConvTranspose, whose result is the image of the windows."""
    convolution, weights = _transposed_convolution(f), _weights(f)
    data = convolution.emit_conv(g[0], weights) if f.wants(0) else ZERO
    by_weights = convolution.by_weights(g[0], f.x, weights) if f.wants(1) else ZERO
    return (data, by_weights, _by_bias(f, g[0]))[: len(f.operands)]


def _by_bias(f: Primal, g: Value) -> Gradient:
    if f.operand(2) is None or not f.wants(2):
        return ZERO
    return g.apply(onnx.ReduceSumOp, g.e.ints([0, *range(2, g.rank)]), keepdims=0)


def _weights(f: Primal) -> Value:
    weights = f.operand(1)
    assert weights is not None
    return weights


def _kernel(f: Primal) -> tuple[int, ...] | None:
    """Return the kernel sizes; None if they are dynamic."""
    known = static(_weights(f).shape[2:]) or f.value("kernel_shape")
    return None if known is None else tuple(known)


def _convolution(f: Primal) -> Convolution | DynamicKernel:
    kernel = _kernel(f)
    if kernel is None:
        return _dynamic_convolution(f)
    axes, sides = window_axes(f, kernel)
    return Convolution(axes, f.value("group", 1), sides)


def _dynamic_convolution(f: Primal) -> DynamicKernel:
    strides, dilations, pads = _window_attributes(f, f.x.rank - 2)
    word, sides = f.value("auto_pad", "NOTSET"), dynamic_kernel_shape.static_sides(pads, f.e)
    if word.startswith("SAME"):
        reach = dynamic_kernel_shape.extents(_weights(f), dilations)
        sides = dynamic_kernel_shape.halves(dynamic_kernel_shape.same_total(f.x, reach, strides), word)
    return DynamicKernel(strides, dilations, f.value("group", 1), sides)


def window_axes(f: Primal, kernel: Sequence[int]) -> tuple[list[ConvAxis], Sides | None]:
    """Return the windows over the first operand, and their pads if these depend on dynamic sizes."""
    axes, word = _axes(f, kernel), f.value("auto_pad", "NOTSET")
    if not word.startswith("SAME"):
        return axes, None
    rows = zip(axes, f.x.shape[2:], strict=True)
    pads = static_pads([same_pads(axis.window, size, word.lower()) for axis, size in rows])
    if pads is not None:
        return [ConvAxis(axis.window, *pad) for axis, pad in zip(axes, pads, strict=True)], None
    windows = [axis.window for axis in axes]
    return axes, same_sides(f.x.value, "NCX", windows, word == "SAME_UPPER", f.e.emit)


def _transposed_convolution(f: Primal) -> Convolution | DynamicKernel:
    n, kernel, groups = f.x.rank - 2, _kernel(f), f.value("group", 1)
    beyond, strides = tuple(f.value("output_padding") or (0,) * n), _window_attributes(f, n)[0]
    if f.value("output_shape"):
        known = None if kernel is None else _axes_for_output_shape(f, kernel, beyond)
        return _dynamic_transposed(f, kernel, beyond) if known is None else Convolution(known, groups)
    for stride, added in zip(strides, beyond, strict=True):
        if added >= stride:
            raise refusal("output_padding", given=added, expected=f"less than the stride {stride}")
    if kernel is None:
        return _dynamic_transposed(f, kernel, beyond)
    axes = _axes(f, kernel)
    if f.value("auto_pad", "NOTSET").startswith("SAME"):
        word = f.value("auto_pad")
        axes = [_same_spread(axis, added, word) for axis, added in zip(axes, beyond, strict=True)]
    return Convolution(axes, groups)


def _dynamic_transposed(
    f: Primal, kernel: Sequence[int] | None, beyond: Sequence[int]
) -> Convolution | DynamicKernel:
    """Return a transposed convolution with run-time pads."""
    strides, dilations, pads = _window_attributes(f, len(beyond))
    word, leave, e = f.value("auto_pad", "NOTSET"), f.value("output_shape"), f.e
    reach, sides = (
        dynamic_kernel_shape.extents(_weights(f), dilations),
        dynamic_kernel_shape.static_sides(pads, e),
    )
    if leave:
        left = e.ints(leave[-len(beyond) :])
        sides = dynamic_kernel_shape.halves(
            dynamic_kernel_shape.spread_total(f.x, reach, strides, beyond, left), word
        )
    elif word.startswith("SAME"):
        sides = dynamic_kernel_shape.halves(
            dynamic_kernel_shape.at_least_0(reach + e.ints(beyond) - e.ints(strides)), word
        )
    groups = f.value("group", 1)
    if kernel is not None:
        return Convolution(_axes(f, kernel), groups, sides)
    return DynamicKernel(strides, dilations, groups, sides)


def _axes_for_output_shape(f: Primal, kernel: Sequence[int], beyond: Sequence[int]) -> list[ConvAxis] | None:
    """Return axes with the pads that give `output_shape`; None for dynamic sizes."""
    axes, sizes = _axes(f, kernel), static(f.x.shape[2:])
    wanted = f.value("output_shape")[-len(axes) :]
    if sizes is None:
        return None
    found: list[ConvAxis] = []
    word = f.value("auto_pad", "NOTSET")
    for axis, size, added, leave in zip(axes, sizes, beyond, wanted, strict=True):
        total = axis.window.full_size(size) + added - leave
        if total <= -axis.window.stride:
            most = leave + total + axis.window.stride - 1
            raise refusal("output_shape", given=leave, expected=f"at most {most}")
        found.append(ConvAxis(axis.window, *_halves(max(total, 0), word)))
    return found


def _same_spread(axis: ConvAxis, added: int, word: str) -> ConvAxis:
    """Return the pads that map X elements to s X, or to fewer if that needed negative pads."""
    window = axis.window
    return ConvAxis(window, *_halves(max(0, window.extent + added - window.stride), word))


def _halves(total: int, word: str) -> tuple[int, int]:
    less = total // 2
    return (less, total - less) if word == "SAME_UPPER" else (total - less, less)


def _axes(f: Primal, kernel: Sequence[int]) -> list[ConvAxis]:
    n = len(kernel)
    strides, dilations, pads = _window_attributes(f, n)
    return list(conv_axes(kernel, strides, dilations, pads[:n], pads[n:]))


def _window_attributes(f: Primal, n: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return strides, dilations and explicit pads; pads are 0 if `auto_pad` is set."""
    ones, zeros = (1,) * n, (0,) * 2 * n
    pads = tuple(f.value("pads") or zeros) if f.value("auto_pad", "NOTSET") == "NOTSET" else zeros
    strides, dilations = (tuple(f.value(name) or ones) for name in ("strides", "dilations"))
    return strides, dilations, pads


# Canonical gradients


def backward_data(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The gradient with respect to diff_dst is the convolution."""
    convolution, weights = _canonical(f), _weights(f)
    values = convolution.emit_conv(g[0], weights) if f.wants(0) else ZERO
    return (values, convolution.by_weights(g[0], f.x, weights) if f.wants(1) else ZERO)


def transpose_backward_data(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The op is a convolution of diff_dst."""
    convolution, weights = _canonical(f), _weights(f)
    image = convolution.by_image(g[0], weights, f.x) if f.wants(0) else ZERO
    return (image, convolution.by_weights(f.x, g[0], weights) if f.wants(1) else ZERO)


def backward_weights(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The cotangent has the shape of the weights: the gradient of src is that of a convolution."""
    diff_dst = f.operand(1)
    assert diff_dst is not None
    lists = (f.value(name) for name in ("kernel", "strides", "dilations", "pads_begin", "pads_end"))
    convolution = Convolution(conv_axes(*lists), f.value("groups"))
    image = convolution.by_image(diff_dst, g[0], f.x) if f.wants(0) else ZERO
    return (image, convolution.emit_conv(f.x, g[0]) if f.wants(1) else ZERO)


def take_window_vjp(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """Pad the window with zeros to its original position; parts outside the data are cropped."""
    begin, size = f.operand(1), f.operand(2)
    assert begin is not None
    assert size is not None
    emit, axes = e.emit, f.value("axes")
    behind = emit.sub(emit.sizes(f.x.value, axes), emit.add(begin.value, size.value))
    return (e(pad_axes(emit, g[0].value, axes, begin.value, behind)), ZERO, ZERO)


def _canonical(f: Primal) -> Convolution:
    lists = (f.value(name) for name in ("strides", "dilations", "pads_begin", "pads_end"))
    kernel = _kernel(f)
    assert kernel is not None, "weights of a canonical gradient have a kernel of known sizes"
    return Convolution(conv_axes(kernel, *lists), f.value("groups"))


def in_any_layout(rule: Rule, *, laid_out: int, laid_out_result: bool) -> Rule:
    """Wrap an NCX rule for an op whose first operands, and maybe result, have a layout."""

    def moved(x: Value, source: str, target: str) -> Value:
        return x.transpose(layouts.permutation(source, target, x.rank - 2))

    def laid_out_rule(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
        layout = f.value("layout")
        if layout == "NCX":
            return rule(f, g, e)
        operands = [
            moved(x, layout, "NCX") if i < laid_out and x is not None else x for i, x in enumerate(f.operands)
        ]
        inner = replace(f, operands=operands, results=[None])
        found = rule(inner, [moved(g[0], layout, "NCX")] if laid_out_result else g, e)
        return [
            moved(x, "NCX", layout) if i < laid_out and isinstance(x, Value) else x
            for i, x in enumerate(found)
        ]

    return laid_out_rule


RULES: Mapping[str, Rule] = MappingProxyType({"Conv": conv, "ConvTranspose": conv_transpose})
"""ONNX op -> its rule."""

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "grad.conv_backward_data": in_any_layout(backward_data, laid_out=1, laid_out_result=True),
        "grad.conv_transpose_backward_data": in_any_layout(
            transpose_backward_data, laid_out=1, laid_out_result=True
        ),
        "grad.conv_backward_weights": in_any_layout(backward_weights, laid_out=2, laid_out_result=False),
        "grad.take_window": take_window_vjp,
    }
)
"""Canonical gradient -> its rule."""
