"""max-pool-to-scatter: a scatter to the indices that MaxPool returns.

Overlapping windows may share an index, so the scatter must add, from opset 16 on. Computing the indices takes
several times as long as the maxima alone.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import layouts
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.pool.argmax_indices import WindowPads, flat_argmax, scatter_add
from passes.pool.axes import without_nan
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class MaxPoolToScatter(Strategy):
    """MaxPool with indices, and ScatterElements."""

    name: ClassVar[str] = "max-pool-to-scatter"
    ops: ClassVar = (MaxPoolBackwardOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def refuses(self, op: MaxPoolBackwardOp, target: Target) -> str | None:
        if target.opset < 16:
            return f"opset {target.opset}: ScatterElements adds from opset 16 on"
        return no_kernel(target, op.src, onnx.MaxPoolOp, onnx.ScatterElementsOp, onnx.PadOp)

    def emit(self, op: MaxPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        e = Builder(emit, target.strict_ieee)
        is_turned = op.layout != "NCX"
        there, back = (layouts.permutation(*pair, op.spatial_rank) for pair in _layout_pairs(op.layout))
        src, diff_dst = (e(emit(onnx.TransposeOp(v, perm=there)) if is_turned else v) for v in op.operands)
        data = without_nan(e, src) if e.strict_ieee else src
        around = WindowPads.of(data, diff_dst, op.windows, op.pads_begin)
        places = flat_argmax(data, around, op.windows)
        found = around.remove_padding(scatter_add(diff_dst, places, around.add_padding(data), e)).value
        return emit(onnx.TransposeOp(found, perm=back)) if is_turned else found


def _layout_pairs(layout: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (layout, "NCX"), ("NCX", layout)
