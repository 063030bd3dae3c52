"""Remarks on nodes that exporters write with an unintended meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import Diagnostic, name_of, position_of, sentence

Scatter: TypeAlias = onnx.ScatterElementsOp | onnx.ScatterNDOp


def lost_sums(ops: Iterable[object], active_values: Iterable[SSAValue]) -> list[Diagnostic]:
    """Return a remark on each scatter into zeros with repeated indices whose result is added to a tensor.
    Without a reduction, only the last of equal indices counts."""
    active = set(active_values)
    return [
        _remark(op) for op in ops if isinstance(op, Scatter) and op.operands[2] in active and _is_lost_sum(op)
    ]


def _remark(op: Scatter) -> Diagnostic:
    torch_function = "index_put" if isinstance(op, onnx.ScatterNDOp) else "index_add"
    hint = f"TorchScript exports {torch_function} this way; torch.export's exporter adds"
    what = f"{op.onnx_name()} {name_of(op)}".strip() + " keeps only the last of rows with equal indices"
    return Diagnostic("remark", sentence(what, hint=hint), position=position_of(op))


def _is_lost_sum(op: Scatter) -> bool:
    reduction = op.onnx_attributes().get("reduction", "none")
    index = op.operands[1]
    may_repeat = _repeats_tuples(index) if isinstance(op, onnx.ScatterNDOp) else _is_repeated(index)
    if reduction != "none" or not _is_zero(op.operands[0]) or not may_repeat:
        return False
    readers = [use.operation for use in op.results[0].uses]
    return len(readers) == 1 and isinstance(readers[0], onnx.AddOp)


def _is_zero(value: SSAValue) -> bool:
    made = value.owner
    if isinstance(made, onnx.ConstantOfShapeOp):
        filled = made.onnx_attributes().get("value")
        return filled is None or (isinstance(filled, np.ndarray) and not filled.any())
    source = made.operands[0] if isinstance(made, onnx.ExpandOp) else value
    known = constant_of(source)
    return known is not None and not known.any()


def _repeats_tuples(index: SSAValue) -> bool:
    """Return whether index tuples are not known to be distinct."""
    known = constant_of(index)
    if known is None:
        return True
    tuples = known.reshape(-1, known.shape[-1])
    return len(np.unique(tuples, axis=0)) < len(tuples)


def _is_repeated(index: SSAValue) -> bool:
    """Return whether row indices are expanded along the rows and not known to be distinct."""
    known = constant_of(index)
    if known is None:
        return isinstance(index.owner, onnx.ExpandOp)
    rows = known.reshape(known.shape[0], -1) if known.ndim else known.reshape(1, 1)
    is_by_rows = bool((rows == rows[:, :1]).all())
    return is_by_rows and len(np.unique(rows[:, 0])) < len(rows)
