"""Size refinement of conditions: an If reads one element, and so do the comparisons that compute it."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.support.interfaces import set_type
from dialects.support.shapes import element_type_of, shape_of, tensor_type

_COMPARED = frozenset(("Cast", "Not")) | traits.COMPARISONS | traits.LOGICAL
"""Elementwise ops: a result of one element has operands of one element."""


def refine_condition(op: onnx.IfOp) -> bool:
    """Set unknown sizes of an If's condition, and of the values that compute it in the same block, to 1.
    Return whether any changed."""
    waiting: list[SSAValue] = [op.cond]
    news = False
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            continue
        news |= _has_one_element(value)
        compared = isinstance(owner, OnnxOp) and owner.onnx_name() in _COMPARED
        waiting += owner.operands if compared else ()
    return news


def _has_one_element(value: SSAValue) -> bool:
    if not isinstance(value.type, TensorType) or None not in shape_of(value):
        return False
    shape = [1 if dim is None else dim for dim in shape_of(value)]
    set_type(value, tensor_type(element_type_of(value), shape))
    return True
