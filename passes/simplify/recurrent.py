"""LSTM, GRU and RNN as runtimes implement them: time-major, with explicit hidden_size."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.support.attributes import int_attribute
from dialects.support.interfaces import set_type
from dialects.support.shapes import has_rank, shape_of

_STATES = [1, 0, 2]
"""Permutation of X and of first and last states between batch-major and time-major, its own inverse."""

_Y = [2, 0, 1, 3]
"""Permutation from (steps, directions, batch) to (batch, steps, directions)."""

_BY_BATCH = ("X", "initial_h", "initial_c")


class TimeMajor(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, OnnxOp):
            return
        if not op.onnx_attributes().get("layout", 0):
            _add_hidden_size(op, rewriter)
            return
        before: list[OnnxOp] = []

        def to_time_major(value: SSAValue | None, name: str) -> SSAValue | None:
            if value is None or name not in _BY_BATCH:
                return value
            before.append(ops.TransposeOp(value, perm=_STATES))
            return before[-1].results[0]

        names = [port.name for port in op.SIGNATURE.operands]
        operands = [to_time_major(*pair) for pair in zip(op.onnx_inputs(), names, strict=False)]
        attributes: dict[str, Any] = {k: v for k, v in op.onnx_attributes().items() if k != "layout"}
        new = type(op)(*operands, **attributes)
        after: list[OnnxOp] = []
        results: list[SSAValue] = []
        for index, (old, result) in enumerate(zip(op.results, new.results, strict=True)):
            if old.type == NoneType():
                set_type(result, old.type)
                results.append(result)
                continue
            after.append(ops.TransposeOp(result, perm=_STATES if index else _Y))
            results.append(after[-1].results[0])
        rewriter.replace(op, [*before, new, *after], results)


def _add_hidden_size(op: OnnxOp, rewriter: PatternRewriter) -> None:
    """Add the attribute, optional in ONNX, without which onnxruntime does not load a model."""
    weights = op.onnx_inputs()[2]
    size = shape_of(weights)[-1] if weights is not None and has_rank(weights) else None
    if "hidden_size" in op.onnx_attributes() or not isinstance(size, int):
        return
    op.properties["hidden_size"] = int_attribute(size)
    rewriter.notify_op_modified(op)
