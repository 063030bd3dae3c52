"""Remarks on nodes that exporters write with an unintended meaning."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import Diagnostic, name_of, position_of, sentence

_HINT = "TorchScript exports index_add this way; torch.export's exporter adds"


def lost_sums(ops: Iterable[object], active_values: Iterable[SSAValue]) -> list[Diagnostic]:
    """Return a remark on each ScatterElements into zeros with repeated indices whose result is added to a
    tensor. Without a reduction, only the last of equal indices counts."""
    active = set(active_values)
    return [
        Diagnostic(
            "remark",
            sentence(
                f"ScatterElements {name_of(op)}".strip() + " keeps only the last of rows with equal indices",
                hint=_HINT,
            ),
            position=position_of(op),
        )
        for op in ops
        if isinstance(op, onnx.ScatterElementsOp) and op.operands[2] in active and _is_lost_sum(op)
    ]


def _is_lost_sum(op: onnx.ScatterElementsOp) -> bool:
    reduction = op.onnx_attributes().get("reduction", "none")
    if reduction != "none" or not _is_zero(op.operands[0]) or not _is_repeated(op.operands[1]):
        return False
    readers = [use.operation for use in op.results[0].uses]
    return len(readers) == 1 and isinstance(readers[0], onnx.AddOp)


def _is_zero(value: SSAValue) -> bool:
    made = value.owner
    source = made.operands[0] if isinstance(made, onnx.ExpandOp) else value
    known = constant_of(source)
    return known is not None and not known.any()


def _is_repeated(index: SSAValue) -> bool:
    """Return whether row indices are expanded along the rows and not known to be distinct."""
    known = constant_of(index)
    if known is None:
        return isinstance(index.owner, onnx.ExpandOp)
    rows = known.reshape(known.shape[0], -1) if known.ndim else known.reshape(1, 1)
    is_by_rows = bool((rows == rows[:, :1]).all())
    return is_by_rows and len(np.unique(rows[:, 0])) < len(rows)
