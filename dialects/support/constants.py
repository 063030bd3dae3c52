"""Constant tensors in the IR: the array behind an SSA value, and which values are compile-time constants."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import Pure

from dialects.support import dense, shapes

_CONSTANT_OPS = ("onnx.Constant", "arith.constant")


def constant_attribute(value: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """Return the dense attribute of a value defined by a constant op, else None."""
    if not isinstance(value, OpResult) or value.op.name not in _CONSTANT_OPS:
        return None
    attr = value.op.properties.get("value")
    return attr if isinstance(attr, DenseIntOrFPElementsAttr) else None


def constant_value(value: SSAValue) -> np.ndarray | None:
    """Return the array of a value defined by a constant op, else None."""
    attr = constant_attribute(value)
    return None if attr is None else dense.to_numpy(attr)


_KNOWN: WeakKeyDictionary[Operation, bool] = WeakKeyDictionary()
"""Cache of `is_const` per op. True stays valid, since rewrites preserve an op's meaning; False may be
outdated after operands have become constants."""


def is_const(value: SSAValue) -> bool:
    """Return whether a value depends on no run-time input, so that folding can make it a constant."""
    if not isinstance(value, OpResult):
        return False
    if value.op not in _KNOWN:
        _resolve(value.op)
    return _KNOWN[value.op]


def _resolve(op: Operation) -> None:
    """Fill the cache for an op, operands first and iteratively: graphs may be deep, and share values."""
    waiting = [op]
    while waiting:
        last = waiting[-1]
        makers = _producers(last)
        unknown = [maker for maker in makers or () if maker not in _KNOWN]
        if unknown:
            waiting += unknown
            continue
        _KNOWN[waiting.pop()] = makers is not None and all(_KNOWN[maker] for maker in makers)


def _producers(op: Operation) -> list[Operation] | None:
    """Return the ops that must all be known for this one to be; None if it never is."""
    if op.name in _CONSTANT_OPS or is_static_shape(op):
        return []
    if not op.has_trait(Pure, value_if_unregistered=False):
        return None  # random, or with a region, which may read any value
    makers = [operand.owner for operand in op.operands]
    found = [maker for maker in makers if isinstance(maker, Operation)]
    return found if found and len(found) == len(makers) else None


def is_static_shape(op: Operation) -> bool:
    """Return whether an op is a Shape of a tensor with static shape."""
    return op.name == "onnx.Shape" and shapes.is_static(shapes.shape_of(op.operands[0]))
