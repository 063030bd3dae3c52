"""Pools that leave a window out, for opsets whose formula counts it.

From opset 22 on, a window that starts in the padding behind the data is none of those that `ceil_mode` adds.
Runtimes have it so at every opset; the formula of older ones, by which models are checked, does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.onnx.call import Call
from dialects.onnx.infer_spatial import ends_of_whole_windows
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.shapes import has_rank
from dialects.support.spelling import option
from passes.emit.rewriting import Emitter, replace

LEFT_OUT = 22
"""The opset from which on the formula leaves such windows out."""

POOLS = (onnx.AveragePoolOp, onnx.MaxPoolOp)


@dataclass
class WithoutCeilMode(RewritePattern):
    """The same windows by less padding behind the data."""

    opset: int

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, POOLS) or not has_rank(op.operands[0]):
            return
        call = op.call()
        ends = ends_of_whole_windows(call)
        if ends is None:
            return
        pads = call.attribute("pads", [0] * 2 * len(ends))
        if _reach_further(call, pads, ends):
            what = "ceil_mode with count_include_pad, and a window that would start in the padding"
            given, expected = option("opset", self.opset), f"{option('opset')} {LEFT_OUT} or newer"
            raise error_at(op, what, given=given, expected=expected, kind=UnsupportedError)
        attributes: dict[str, Any] = {**call.attributes, "pads": [*pads[: len(ends)], *ends], "ceil_mode": 0}
        emit = Emitter()
        values = emit.all(type(op)(op.operands[0], **attributes))
        replace(op, rewriter, emit, values)


def _reach_further(call: Call, pads: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether a mean would count padding that is none of the model's."""
    further = any(end > given for end, given in zip(ends, pads[len(ends) :], strict=True))
    return further and bool(call.attribute("count_include_pad", 0))
