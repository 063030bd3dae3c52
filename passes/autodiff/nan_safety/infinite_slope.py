"""Masked gradients whose cotangent may be infinite, as in Acos(Clip(x, -1, 1)) or Sqrt(Relu(x)).

At a bound of Clip or Relu the reader's derivative may be infinite, and a product with the mask 0 would be
NaN. Such masks use Where.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of

MASKED = frozenset({"Clip", "HardSigmoid", "Max", "Min", "Relu", "Shrink", "ThresholdedRelu", "Where"})
"""Ops whose gradients are masked; their masked results may be at a domain edge."""

_UNBOUNDED = {
    "Acos": 0,
    "Acosh": 0,
    "Asin": 0,
    "Atanh": 0,
    "Div": 1,
    "Log": 0,
    "Pow": 0,
    "Reciprocal": 0,
    "ReduceLogSum": 0,
    "Sqrt": 0,
}
"""Ops with an infinite derivative at the edge of their domain -> index of the operand."""

_PASSING = MASKED | {
    "Add", "Cast", "Concat", "Div", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
    "Mean", "Mul", "Neg", "Pow", "ReduceMean", "ReduceSum", "ReduceSumSquare", "Reshape", "Slice", "Split",
    "Squeeze", "Sub", "Sum", "Tile", "Transpose", "Unsqueeze",
}  # fmt: skip
"""Ops that may carry a domain-edge value to such an op: 1 - c c is 0 at c = 1."""


def masks_at_domain_edges(ops: Sequence[Operation]) -> set[Operation]:
    """Return the ops of `MASKED` whose cotangents may be infinite, seen within one block."""
    reached, found = set[SSAValue](), set[Operation]()
    for op in reversed(ops):
        if not isinstance(op, OnnxOp):
            continue
        name = op.onnx_name()
        passes = name in _PASSING and not reached.isdisjoint(op.results) and not _is_kept_away(op)
        if name in MASKED and not reached.isdisjoint(op.results):
            found.add(op)
        if passes:
            reached.update(op.operands)
        elif _is_unbounded(op):
            reached.add(op.operands[_UNBOUNDED[name]])
    return found


def _is_unbounded(op: OnnxOp) -> bool:
    """Return whether the op's derivative is unbounded; Pow's is not for exponents 0 or >= 1."""
    if op.onnx_name() != "Pow":
        return op.onnx_name() in _UNBOUNDED
    exponent = constant_of(op.operands[1])
    return exponent is None or bool(((exponent != 0) & (exponent < 1)).any())


def _is_kept_away(op: OnnxOp) -> bool:
    """Return whether a positive constant is added, as to a variance before its root."""
    if op.onnx_name() != "Add":
        return False
    known = (constant_of(value) for value in op.operands)
    return any(value is not None and value.size > 0 and bool((value > 0).all()) for value in known)
