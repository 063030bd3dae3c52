"""Sums z + (q - z) marked as straight-through estimates, and the target of their cotangents."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx

ESTIMATE = "gradc.estimate"
"""Attribute of such a sum: the cotangent goes to q (`ROUNDED`) or to z (`PASSED`)."""

ROUNDED, PASSED = StringAttr("rounded"), StringAttr("passed")


def cotangent_target(op: Operation) -> SSAValue | None:
    """Return the value that gets the whole cotangent of a marked op; None for other ops."""
    if ESTIMATE not in op.attributes:
        return None
    found = match_estimate(op)
    assert found is not None
    return found[op.attributes[ESTIMATE] == PASSED]


def match_estimate(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Match z + (q - z), z - (z - q) or (q + z) - z; return q and z."""
    if isinstance(op, onnx.AddOp):
        left, right = map(skip_identities, op.operands)
        return _match_sum(left, right) or _match_sum(right, left)
    if not isinstance(op, onnx.SubOp):
        return None
    left, right = map(skip_identities, op.operands)
    if isinstance(right.owner, onnx.SubOp) and skip_identities(right.owner.operands[0]) is left:
        return skip_identities(right.owner.operands[1]), left
    if not isinstance(left.owner, onnx.AddOp):
        return None
    terms = [skip_identities(value) for value in left.owner.operands]
    return (terms[terms[0] is right], right) if right in terms else None


def _match_sum(z: SSAValue, other: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    if not isinstance(other.owner, onnx.SubOp) or skip_identities(other.owner.operands[1]) is not z:
        return None
    return skip_identities(other.owner.operands[0]), z


def skip_identities(value: SSAValue) -> SSAValue:
    """Return the source of a chain of Identity ops."""
    while isinstance(value.owner, onnx.IdentityOp):
        value = value.owner.operands[0]
    return value
