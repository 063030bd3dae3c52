"""Interpreter functions of the onednn dialect: layouts and defaults resolved, then the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import SSAValue

from dialects.grad.geometry import Pads
from dialects.grad.reference import conv, resize
from dialects.onednn.base import OneDNNConvOp
from dialects.onednn.conv import library_weights
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onednn.spec_classes import classes_in_use
from dialects.onnx.numpy import round_to
from dialects.onnx.operands import wide
from dialects.support import layouts
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of


@register_impls
class OneDNNFunctions(InterpreterFunctions):
    """Values are numpy arrays; each op computes in float64 and rounds once to its dtype."""

    @impl(ConvolutionBackwardDataOp)
    def convolution_backward_data(
        self, interpreter: Interpreter, op: ConvolutionBackwardDataOp, args: tuple[Any, ...]
    ):
        diff_dst, weights = _canonical(op, args[0], args[1], "OIX")
        src = _src_sizes(op, args)
        windows = op.windows(weights.shape[2:])
        pads = _all_pads(op.resolve_pads(windows, src, diff_dst.shape[2:]))
        result = conv.conv_backward_data(
            diff_dst,
            weights,
            src,
            op.strides,
            op.dilations,
            [pb for pb, _ in pads],
            op.groups,
        )
        return (_from_ncx(op, result).astype(args[0].dtype),)

    @impl(ConvTransposeBackwardDataOp)
    def conv_transpose_backward_data(
        self, interpreter: Interpreter, op: ConvTransposeBackwardDataOp, args: tuple[Any, ...]
    ):
        diff_dst, weights = _canonical(op, args[0], args[1], "IOX")
        if op.problem().documented_weights:
            weights = library_weights(weights, op.groups)
        windows = op.windows(weights.shape[2:])
        pads = _all_pads([op.axis_pads(windows, diff_dst.shape[2:], axis) for axis in range(len(windows))])
        rows = zip(windows, diff_dst.shape[2:], pads, strict=True)
        result = conv.conv_transpose_backward_data(
            diff_dst,
            weights,
            [window.output_size(y, *pad) for window, y, pad in rows],
            op.strides,
            op.dilations,
            [pb for pb, _ in pads],
            op.groups,
        )
        return (_from_ncx(op, result).astype(args[0].dtype),)

    @impl(InterpolateBackwardOp)
    def interpolate_backward(
        self, interpreter: Interpreter, op: InterpolateBackwardOp, args: tuple[Any, ...]
    ):
        src, diff_dst = args[:2]
        rule = op.rule()
        axes: list[resize.Axis] = []
        for axis in layouts.spatial_axes(op.data_format, src.ndim - 2):
            x, y = src.shape[axis], diff_dst.shape[axis]
            coordinate = resize.size_coordinate(rule.coordinate_mode, x, y)
            axes.append(resize.Axis(axis, x, coordinate, rule.interpolation))
        return (resize.resize_backward(diff_dst, axes).astype(diff_dst.dtype),)


def _run_table_op(
    _functions: InterpreterFunctions, _: Interpreter, op: Any, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Run an op's `evaluate` in float64 and round once to the dtypes of its results."""
    with np.errstate(all="ignore"):
        found = op.evaluate(*map(wide, args))
    return tuple(_round_result(array, result) for array, result in zip(found, op.results, strict=True))


def _round_result(array: np.ndarray, result: SSAValue) -> np.ndarray:
    return round_to(array, known_dtype(element_type_of(result)).numpy)


def table_functions() -> InterpreterFunctions:
    """Return interpreter functions of all op specs used so far."""
    body = {cls.__name__: impl(cls)(_run_table_op) for cls in classes_in_use()}
    return register_impls(type("RowFunctions", (InterpreterFunctions,), body))()


def _all_pads(pads: Sequence[Pads | None]) -> list[Pads]:
    """Return pads of static sizes, none of which is None."""
    known = [pad for pad in pads if pad is not None]
    assert len(known) == len(pads)
    return known


def _canonical(op: OneDNNConvOp, diff_dst: np.ndarray, weights: np.ndarray, weights_layout: str):
    n = diff_dst.ndim - 2
    data = layouts.permutation(op.data_format, "NCX", n)
    kernel = layouts.permutation(op.value("weights_format"), weights_layout, n)
    return diff_dst.transpose(data), weights.transpose(kernel)


def _from_ncx(op: OneDNNConvOp, result: np.ndarray) -> np.ndarray:
    return result.transpose(layouts.permutation("NCX", op.data_format, result.ndim - 2))


def _src_sizes(op: ConvolutionBackwardDataOp, args: tuple[Any, ...]) -> tuple[int, ...]:
    if op.has_runtime_shape:
        return tuple(layouts.reorder(args[2].tolist(), op.data_format, "NCX")[2:])
    src = op.problem().src
    return tuple(x for x in src if isinstance(x, int))
