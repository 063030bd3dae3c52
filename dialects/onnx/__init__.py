"""The target dialect: the ops of ONNX's standard domain."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Dialect, Operation

from dialects.onnx import ops
from dialects.onnx.control import YieldOp
from dialects.onnx.node import NodeOp
from dialects.onnx.tensor_attributes import SparseTensorAttr, StringTensorAttr
from dialects.onnx.types import (
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    StringType,
    UnknownType,
)


class OnnxConstants(ConstantMaterializationInterface):
    """Materializes the attributes that `fold` returns as `onnx.Constant`."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, DenseIntOrFPElementsAttr) or value.type != type:
            return None
        return ops.ConstantOp(value)


_OTHERS: dict[str, type[Operation]] = {"Node": NodeOp, "Yield": YieldOp}
"""Ops of the dialect outside the standard domain."""


def lookup_op(name: str) -> type[Operation] | None:
    """Return the class of an op of the dialect by its name, or None."""
    if name in _OTHERS:
        return _OTHERS[name]
    return ops.op_class(name) if name in ops.op_names() else None


class _OnnxDialect(Dialect):
    """A dialect that creates op classes on demand: `dialects.context` looks them up by name."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        return iter((*ops.OPS, *_OTHERS.values()))


_ATTRIBUTES: list[type[Attribute]] = [
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorAttr,
    SparseTensorType,
    StringTensorAttr,
    StringType,
    UnknownType,
]

ONNX = _OnnxDialect("onnx", [], _ATTRIBUTES, [OnnxConstants()])
