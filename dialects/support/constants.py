"""Constant tensors in the IR: the array behind an SSA value, and which values compile time knows."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import Pure

from dialects.support import dense, shapes

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


_KNOWN: WeakKeyDictionary[Operation, bool] = WeakKeyDictionary()
"""Of each op that was asked for. A rewrite keeps the meaning of an op, so True stays true; for an op whose
operands became constants since, False says less than it could."""


def is_known(value: SSAValue) -> bool:
    """Whether nothing that is given at run time goes into a value: folding can make it a constant."""
    if not isinstance(value, OpResult):
        return False
    if value.op not in _KNOWN:
        _find_out(value.op)
    return _KNOWN[value.op]


def _find_out(op: Operation) -> None:
    """Ask an op after those that make its operands, each once: a graph may be deep, and many may read one."""
    waiting = [op]
    while waiting:
        last = waiting[-1]
        makers = _makers(last)
        unasked = [maker for maker in makers or () if maker not in _KNOWN]
        if unasked:
            waiting += unasked
            continue
        _KNOWN[waiting.pop()] = makers is not None and all(_KNOWN[maker] for maker in makers)


def _makers(op: Operation) -> list[Operation] | None:
    """The ops of which all must be known for this one to be; None if it is not, whatever they are."""
    if op.name in _CONSTANT_OPS or is_static_shape(op):
        return []
    if not op.has_trait(Pure, value_if_unregistered=False):
        return None  # it draws numbers, or has a region, which may read anything
    makers = [operand.owner for operand in op.operands]
    found = [maker for maker in makers if isinstance(maker, Operation)]
    return found if found and len(found) == len(makers) else None


def is_static_shape(op: Operation) -> bool:
    """Whether an op gives sizes that its operand's type tells."""
    return op.name == "onnx.Shape" and shapes.is_static(shapes.shape_of(op.operands[0]))
