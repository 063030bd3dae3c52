"""Rewrite patterns of the pass lower-onednn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.grad.conv import conv_backward_data, conv_transpose_backward_data, take_window
from dialects.grad.geometry import Pads
from dialects.onednn.base import OneDNNConvOp, OneDNNOp
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp, ConvolutionBackwardDataProblem
from dialects.onednn.conv_transpose_backward_data import (
    ConvTransposeBackwardDataOp,
    ConvTransposeBackwardDataProblem,
)
from dialects.onednn.families import TableOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onednn.windows import static_pads
from dialects.support import layouts
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewrite_cache import templates, write_from_template
from passes.builder.rewriting import replace, rewrite
from passes.builder.values import Builder
from passes.conv.dynamic_pads import (
    begin_of,
    conv_axes,
    convolve_all_windows,
    library_total,
    pad_input,
    same_sides,
)
from passes.lower_onednn.op_specs import in_onnx
from passes.resize.backward import ResizeAxis, emit_resize_backward

_KNOWN = templates()


def lower(module: ModuleOp, strict_ieee: bool) -> None:
    """Convert the oneDNN ops of a module in place."""
    patterns = [
        ConvertConvolution(),
        ConvertConvTranspose(strict_ieee),
        ConvertInterpolate(),
        ConvertRow(strict_ieee),
    ]
    rewrite(module, patterns, (OneDNNOp,))


class ConvertConvolution(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvolutionBackwardDataOp, rewriter: PatternRewriter) -> None:
        if op.weights_format != "OIX":
            return
        emit = OpBuilder()
        values = write_from_template(op, _KNOWN, emit, lambda emit: [_convolution(op, emit)])
        replace(op, rewriter, emit, values)


def _convolution(op: ConvolutionBackwardDataOp, emit: OpBuilder) -> SSAValue:
    problem = op.problem()
    pads = static_pads(problem.pads)
    if op.has_runtime_shape or pads is None:
        return _full_gradient_window(op, problem, emit)
    return emit(_static(op, problem, pads))


def _spatial_axes(op: OneDNNConvOp) -> tuple[int, ...]:
    return layouts.spatial_axes(op.data_format, len(op.strides))


def _static(op: ConvolutionBackwardDataOp, problem: ConvolutionBackwardDataProblem, pads: Sequence[Pads]):
    residue = [
        window.residue(x, *pad)
        for window, x, pad in zip(problem.windows, problem.src, pads, strict=True)
        if isinstance(x, int)
    ]
    axes = conv_axes(problem.windows, pads)
    layout = op.data_format
    return conv_backward_data(op.diff_dst, op.weights, axes, residue, problem.groups, layout)


def _full_gradient_window(
    op: ConvolutionBackwardDataOp, problem: ConvolutionBackwardDataProblem, emit: OpBuilder
) -> SSAValue:
    """Lower to the gradient over the full extent s (Y - 1) + Ke; diff_src is its window [pb, pb + X)."""
    n = len(problem.windows)
    axes = conv_axes(problem.windows, [(0, 0)] * n)
    layout, spatial = op.data_format, _spatial_axes(op)
    full = emit(conv_backward_data(op.diff_dst, op.weights, axes, [0] * n, problem.groups, layout))
    if op.dst_shape_input is not None:
        shape = emit.as_int64(op.dst_shape_input)
        size = emit.take(shape, spatial)
    else:
        size = emit.ints([x for x in problem.src if isinstance(x, int)])
    begin = _pads_begin(op, problem, size, emit)
    return emit(take_window(full, begin, size, spatial))


def _pads_begin(
    op: ConvolutionBackwardDataOp,
    problem: ConvolutionBackwardDataProblem,
    size: SSAValue,
    emit: OpBuilder,
) -> SSAValue:
    """Return pads_begin as a vector, computed in the graph for `same_*`."""
    if not op.is_same:
        return emit.ints([begin for begin, _ in op.explicit_pads()])
    windows = problem.windows
    if op.auto_pad_rule == "library":
        total = library_total(windows, size, emit)
    else:
        y = emit.sizes(op.diff_dst, _spatial_axes(op))
        padding = op.output_padding or (0,) * len(windows)
        # s (Y - 1) + Ke - X + output_padding, clamped
        constants = [w.full_size(0) + p for w, p in zip(windows, padding, strict=True)]
        span = emit.add(emit.mul(y, emit.ints([w.stride for w in windows])), emit.ints(constants))
        total = emit.max(emit.sub(span, size), 0)
    return begin_of(total, _odd_at_end(op), emit)


def _odd_at_end(op: OneDNNConvOp) -> bool:
    return (op.auto_pad == "same_upper") == (op.auto_pad_rule == "library")


@dataclass
class ConvertConvTranspose(RewritePattern):
    strict_ieee: bool

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvTransposeBackwardDataOp, rewriter: PatternRewriter) -> None:
        problem = op.problem()
        if op.weights_format != "IOX" or problem.documented_weights:
            return
        emit = OpBuilder()
        values = write_from_template(
            op, _KNOWN, emit, lambda emit: [self._canonical_op(op, problem, emit)], self.strict_ieee
        )
        replace(op, rewriter, emit, values)

    def _canonical_op(
        self, op: ConvTransposeBackwardDataOp, problem: ConvTransposeBackwardDataProblem, emit: OpBuilder
    ) -> SSAValue:
        windows, groups, layout = problem.windows, problem.groups, op.data_format
        diff_dst: SSAValue = op.diff_dst
        pads = static_pads(problem.pads)
        if pads is None:
            sides = same_sides(diff_dst, layout, windows, _odd_at_end(op), emit)
            if self.strict_ieee:
                return convolve_all_windows(diff_dst, op.weights, windows, groups, layout, sides, emit)
            diff_dst, pads = pad_input(diff_dst, layout, sides, emit), [(0, 0)] * len(windows)
        axes = conv_axes(windows, pads)
        return emit(conv_transpose_backward_data(diff_dst, op.weights, axes, groups, layout))


class ConvertInterpolate(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InterpolateBackwardOp, rewriter: PatternRewriter) -> None:
        emit = OpBuilder()
        values = write_from_template(op, _KNOWN, emit, lambda emit: [_resize(op, emit)])
        replace(op, rewriter, emit, values)


def _resize(op: InterpolateBackwardOp, emit: OpBuilder) -> SSAValue:
    src = shape_of(op.src)
    spatial = layouts.spatial_axes(op.data_format, len(src) - 2)
    axes = [ResizeAxis(axis, src[axis]) for axis in spatial]
    return emit_resize_backward(emit, op.diff_dst, axes, op.rule(), op.src)


@dataclass
class ConvertRow(RewritePattern):
    strict_ieee: bool = False

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, TableOp):
            return
        e = Builder(strict_ieee=self.strict_ieee)
        replace(op, rewriter, e.emit, [result.value for result in in_onnx(op, e)])
