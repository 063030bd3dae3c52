"""Pools that skip a window, for opsets whose formula counts it.

From opset 22 on, `ceil_mode` adds no window that starts in the padding behind the data. Runtimes skip it at
every opset; the older formula, by which models are checked, does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.onnx.call import Call
from dialects.onnx.infer.spatial import ends_of_whole_windows
from dialects.support.shapes import has_rank
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace

SKIPPED_FROM_OPSET = 22
"""First opset whose formula skips such windows."""

POOLS = (onnx.AveragePoolOp, onnx.MaxPoolOp)


@dataclass
class WithoutCeilMode(RewritePattern):
    """Get the same windows by less padding behind the data. If a mean would count padding that the model does
    not have, `ceil_mode` stays for axes with windows beyond the pads."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, POOLS) or not has_rank(op.operands[0]):
            return
        call = op.call()
        ends = ends_of_whole_windows(call)
        if ends is None:
            return
        begin, given = _pads(call, len(ends))
        data, emit = op.operands[0], OpBuilder()
        behind = [max(0, end) for end in ends]
        attributes: dict[str, Any] = {**call.attributes, "pads": [*begin, *behind], "ceil_mode": 0}
        if call.attribute("count_include_pad", 0) and any(map(int.__gt__, behind, given)):
            less = [min(pair) for pair in zip(behind, given, strict=True)]
            attributes |= {"pads": [*begin, *less], "ceil_mode": 1}
            data = _crop_rest(data, ends, emit)
        values = emit.all(type(op)(data, **attributes))
        replace(op, rewriter, emit, values)


def _pads(call: Call, count: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the pads before and after each spatial axis."""
    pads = call.attribute("pads", [0] * 2 * count)
    return pads[:count], pads[count:]


def _crop_rest(data: SSAValue, ends: Sequence[int], emit: OpBuilder) -> SSAValue:
    """Crop the last elements that are in no window, from which `ceil_mode` would make one."""
    axes = {axis: end for axis, end in enumerate(ends, 2) if end < 0}
    if not axes:
        return data
    zeros, last, along = (emit.ints(values) for values in ([0] * len(axes), [*axes.values()], [*axes]))
    return emit(onnx.SliceOp(data, zeros, last, along))
