"""A mutable node, between its proto and its op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.construction import properties_of
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp, SubOp
from dialects.onnx.opsets import OLDEST
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import violation

Argument = SSAValue | Sequence[SSAValue]
"""An operand, or the values of a variadic one."""

_UNKNOWN = UnknownType()


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

    def apply(
        self,
        cls: type[OnnxOp],
        *operands: Argument,
        result_type: Attribute = _UNKNOWN,
        **attributes: Any,
    ) -> SSAValue:
        """Add an op before that of the node and return its first result.

        The op is an opaque node if the type of an operand is unknown; its result has the type `result_type`.
        """
        values = list(_values(operands))
        if not any(isinstance(value.type, UnknownType) for value in values):
            return self.emit(cls(*operands, **attributes))
        since, given = max(OLDEST, cls.VERSIONS[0].since), properties_of(cls, attributes)
        return self.emit(NodeOp("", cls.onnx_name(), values, [result_type], given, {}, since))

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


def _values(operands: Sequence[Argument]) -> Iterator[SSAValue]:
    for operand in operands:
        yield from (operand,) if isinstance(operand, SSAValue) else operand
