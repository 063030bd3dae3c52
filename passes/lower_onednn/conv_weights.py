"""Gradients of convolutions with respect to their weights: `grad.conv_backward_weights`.

In a transposed convolution src and diff_dst exchange roles. For `auto_pad` same_* with dynamic sizes, the
data under the windows is padded in the graph; for strict IEEE numbers, separately for each tap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import conv_backward_weights
from dialects.onednn.conv_backward_weights import WeightsGradientOp
from dialects.onednn.windows import static_pads
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import Sides, conv_axes, pad_input, same_sides
from passes.conv.weight_gradients import Taps, by_taps


def weights_gradient(op: WeightsGradientOp, e: Builder) -> Sequence[Value]:
    value = _in_onnx_order(op, e)
    order = layouts.permutation(op.SPEC.order, op.weights_format, len(shape_of(op.src)) - 2)
    moved = order != tuple(range(len(order)))
    return [e(e.emit(onnx.TransposeOp(value, perm=order)) if moved else value)]


def _in_onnx_order(op: WeightsGradientOp, e: Builder) -> SSAValue:
    image, windows, layout, pads = op.image, op.kernel_windows, op.data_format, static_pads(op.pads())
    if pads is None:
        sides = _sides(op, e.emit)
        if e.strict_ieee:
            return _exactly(op, sides, e)
        image, pads = pad_input(image, layout, sides, e.emit), [(0, 0)] * len(windows)
    axes = conv_axes(windows, pads)
    return e.emit(conv_backward_weights(image, op.window_values, axes, op.groups, layout))


def _sides(op: WeightsGradientOp, emit: OpBuilder) -> Sides:
    """Return the pads of `same_*`. Those of a transposed convolution end with its last window: max(0, s (X -
    1) + Ke - Y - pb)."""
    windows, layout = op.kernel_windows, op.data_format
    begin, end = same_sides(op.src, layout, windows, op.auto_pad == "same_upper", emit)
    if not op.is_transposed:
        return begin, end
    spatial = layouts.spatial_axes(layout, len(windows))
    strides = emit.ints([window.stride for window in windows])
    beyond = emit.ints([window.extent - window.stride for window in windows])
    whole = emit.add(emit.mul(emit.sizes(op.src, spatial), strides), beyond)
    return begin, emit.max(emit.sub(emit.sub(whole, emit.sizes(op.image, spatial)), begin), 0)


def _exactly(op: WeightsGradientOp, sides: Sides, e: Builder) -> SSAValue:
    windows = op.kernel_windows
    perm = layouts.permutation(op.data_format, "NCX", len(windows))
    image, values = (e.emit(onnx.TransposeOp(value, perm=perm)) for value in (op.image, op.window_values))
    return by_taps(e.emit, image, values, Taps(windows, *sides), op.groups, exact=True)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        "ConvolutionBackwardWeights": weights_gradient,
        "ConvTransposeBackwardWeights": weights_gradient,
    }
)
