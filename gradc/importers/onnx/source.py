"""A mutable node, between its proto and its op."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onnx.ops import ConstantOp, SubOp
from dialects.support.diagnostics import violation


@dataclass
class Source:
    """A node of the standard domain, which upgrades change in place.

    `since` is the opset of its current version, `declared` are the declared result types.
    """

    op_type: str
    since: int
    operands: list[SSAValue | None]
    attributes: dict[str, Attribute]
    regions: dict[str, Region]
    declared: list[Attribute | None]
    block: Block
    location: LocationAttr
    replaced: list[SSAValue | None] = field(default_factory=list)
    """The results, if an upgrade replaced the node by other ops."""

    def emit(self, op: Operation) -> SSAValue:
        """Add an op before that of the node and return its first result."""
        op.location = self.location
        self.block.add_op(op)
        return op.results[0]

    def constant(self, array: np.ndarray) -> SSAValue:
        return self.emit(ConstantOp(array))

    def ints(self, *values: int) -> SSAValue:
        return self.constant(np.array(values, np.int64))

    def operand(self, index: int) -> SSAValue:
        found = self.optional(index)
        if found is None:
            raise violation(f"input {index} of {self.op_type} is missing")
        return found

    def optional(self, index: int) -> SSAValue | None:
        return self.operands[index] if index < len(self.operands) else None

    def set_operand(self, index: int, value: SSAValue) -> None:
        self.operands += [None] * (index + 1 - len(self.operands))
        self.operands[index] = value

    def subtract(self, value: SSAValue, number: int) -> SSAValue:
        return self.emit(SubOp(value, self.ints(number)))
