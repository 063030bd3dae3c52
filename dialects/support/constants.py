"""Constant tensors in the IR: making one, and reading the value behind an SSA value."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import OpResult, SSAValue

from dialects.support import dense

_CONSTANT_OPS = ("onnx.Constant", "arith.constant")


def constant_attribute(value: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """The dense attribute behind a value that a constant op defines."""
    if not isinstance(value, OpResult) or value.op.name not in _CONSTANT_OPS:
        return None
    attr = value.op.properties.get("value")
    return attr if isinstance(attr, DenseIntOrFPElementsAttr) else None


def constant_value(value: SSAValue) -> np.ndarray | None:
    """The array behind a value that a constant op defines, None for any other value."""
    attr = constant_attribute(value)
    return None if attr is None else dense.to_numpy(attr)
