"""Convolution and ConvTranspose as plain ONNX, and as canonical gradients.

1. A Convolution is ONNX's Conv. Data that is not NCX is transposed; `assign-layout` removes Transposes that
   do not pay. With `strict_ieee`, where no zero may meet a weight, it is the gradient of the transposed
   convolution, the same sum, which has suitable strategies.
2. A ConvTranspose is always the gradient of a convolution: ONNX's own is one of its lowerings, and not
   supported for every target, opset and pair of pads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.ir import SSAValue

from dialects.grad.conv import conv_backward_data, conv_transpose_backward_data
from dialects.grad.geometry import Pads
from dialects.onednn.conv import ConvolutionForwardOp, ConvTransposeForwardOp, ForwardConvOp
from dialects.onednn.windows import static_pads
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import conv_axes, convolve_all_windows, pad_input, same_sides
from passes.lower_onednn.channels import to_layout


def convolution(op: ConvolutionForwardOp, e: Builder) -> Sequence[Value]:
    weights = to_layout(op.weights, op.weights_format, "OIX", e.emit)
    if e.strict_ieee:
        return [e(_add_bias(_strict_convolution(op, weights, e.emit), op, e.emit))]
    problem, layout = op.problem(), op.data_format
    src: SSAValue = op.src
    pads = static_pads(problem.pads)
    if pads is None:
        src = pad_input(src, layout, _sides(op, e.emit), e.emit)
        pads = [(0, 0)] * len(problem.windows)
    data = to_layout(src, layout, "NCX", e.emit)
    made = e.emit(onnx.ConvOp(data, weights, op.bias, **_attributes(op, pads)))
    return [e(to_layout(made, "NCX", layout, e.emit))]


def conv_transpose(op: ConvTransposeForwardOp, e: Builder) -> Sequence[Value]:
    """Lower a ConvTranspose. output_padding first reduces pads_end; the rest is the residue of a convolution
    if smaller than the stride, else zeros after the result."""
    weights = to_layout(op.weights, op.weights_format, "IOX", e.emit)
    if op.documented_weights:
        weights = library_weights(weights, op.groups, e.emit)
    problem, layout = op.problem(), op.data_format
    pads = [(pb, max(0, pe - more)) for (pb, pe), more in _ends(op)]
    beyond = [max(0, more - pe) for (_, pe), more in _ends(op)]
    residue = [more if more < stride else 0 for more, stride in zip(beyond, op.strides, strict=True)]
    axes = conv_axes(problem.windows, pads)
    made = e.emit(conv_backward_data(op.src, weights, axes, residue, op.groups, layout))
    rest = [more - written for more, written in zip(beyond, residue, strict=True)]
    return [e(_add_bias(_append_zeros(made, layout, rest, e.emit), op, e.emit))]


def _ends(op: ConvTransposeForwardOp) -> list[tuple[Pads, int]]:
    """Return pads and output_padding of each axis."""
    pads = static_pads(op.problem().pads)
    assert pads is not None
    return list(zip(pads, op.output_pads, strict=True))


def _attributes(op: ForwardConvOp, pads: Sequence[Pads]) -> dict[str, Any]:
    begin, end = zip(*pads, strict=True)
    return {
        "strides": op.strides,
        "dilations": op.dilations,
        "group": op.groups,
        "pads": [*begin, *end],
    }


def _append_zeros(value: SSAValue, layout: str, beyond: Sequence[int], emit: OpBuilder) -> SSAValue:
    """Append zeros to each spatial axis."""
    if not any(beyond):
        return value
    return pad_input(value, layout, (emit.ints([0] * len(beyond)), emit.ints(beyond)), emit)


def _add_bias(value: SSAValue, op: ForwardConvOp, emit: OpBuilder) -> SSAValue:
    """Add the bias to a value in the op's layout."""
    if op.bias is None:
        return value
    rank = len(shape_of(value))
    behind = range(1, rank - layouts.axis_of(op.data_format, "C", rank - 2))
    bias = emit(onnx.UnsqueezeOp(op.bias, emit.ints(behind))) if behind else op.bias
    return emit(onnx.AddOp(value, bias))


def _sides(op: ConvolutionForwardOp, emit: OpBuilder) -> tuple[SSAValue, SSAValue]:
    odd_at_end = op.auto_pad == "same_upper"
    return same_sides(op.src, op.data_format, op.problem().windows, odd_at_end, emit)


def _strict_convolution(op: ConvolutionForwardOp, weights: SSAValue, emit: OpBuilder) -> SSAValue:
    problem, layout = op.problem(), op.data_format
    pads = static_pads(problem.pads)
    if pads is None:
        sides = _sides(op, emit)
        return convolve_all_windows(op.src, weights, problem.windows, op.groups, layout, sides, emit)
    axes = conv_axes(problem.windows, pads)
    return emit(conv_transpose_backward_data(op.src, weights, axes, op.groups, layout))


def library_weights(weights: SSAValue, groups: int, emit: OpBuilder) -> SSAValue:
    """Convert (C/g, O, K...) to (C, O/g, K...): split O by group, move the groups first, merge them with C/g.

    Input channel i of group q is c = q C/g + i and output channel j of it o = q O/g + j, so library[q C/g +
    i, j] = page[i, q O/g + j].
    """
    per_group, out_channels, *kernel = (dim for dim in shape_of(weights) if isinstance(dim, int))
    split = emit.ints([per_group, groups, out_channels // groups, *kernel])
    joined = emit.ints([groups * per_group, out_channels // groups, *kernel])
    parts = emit(onnx.ReshapeOp(weights, split))
    perm = [1, 0, *range(2, len(kernel) + 3)]
    return emit(onnx.ReshapeOp(emit(onnx.TransposeOp(parts, perm=perm)), joined))


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {"Convolution": convolution, "ConvTranspose": conv_transpose}
)
