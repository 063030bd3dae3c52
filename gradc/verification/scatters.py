"""Scatters whose result ONNX does not define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx import ops as onnx


def has_duplicate_writes(op: Operation, operands: Sequence[Any]) -> bool:
    """Return whether a scatter without reduction writes one element twice, with an undefined result."""
    if isinstance(op, onnx.MaxUnpoolOp):
        return len(np.unique(operands[1])) < np.size(operands[1])
    if not isinstance(op, onnx.ScatterElementsOp | onnx.ScatterNDOp):
        return False
    attributes: Any = op.onnx_attributes()
    if attributes.get("reduction", "none") != "none":
        return False
    data, indices = operands[0], np.asarray(operands[1])
    if isinstance(op, onnx.ScatterNDOp):
        rows = indices.reshape(-1, indices.shape[-1])
        rows = rows % np.array(data.shape[: indices.shape[-1]])
    else:
        axis = attributes.get("axis", 0)
        columns = list(np.indices(indices.shape))
        columns[axis] = indices % data.shape[axis]
        rows = np.stack([column.reshape(-1) for column in columns], -1)
    return len(np.unique(rows, axis=0)) < len(rows)
