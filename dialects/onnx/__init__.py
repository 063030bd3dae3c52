"""The target dialect: the ops of ONNX's standard domain that gradc writes."""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Dialect, Operation

from dialects.onnx.ops import OPS, ConstantOp


class OnnxConstants(ConstantMaterializationInterface):
    """Turns the attributes that `fold` returns into `onnx.Constant`."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, DenseIntOrFPElementsAttr) or value.type != type:
            return None
        return ConstantOp(value)


ONNX = Dialect("onnx", list(OPS), [], [OnnxConstants()])
