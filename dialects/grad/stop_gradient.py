"""The identity whose derivative is zero."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from dialects.support.interfaces import InfersTypes, check_results


@irdl_op_definition
class StopGradientOp(IRDLOperation, InfersTypes):
    """A tensor through which no gradient flows, as `jax.lax.stop_gradient` and torch's `detach`.

    No pattern looks through the op, so that a rewrite cannot merge what is computed before and after it.
    """

    name = "grad.stop_gradient"

    BY_PARTS: ClassVar = True

    KIND: ClassVar[str] = "stop_gradient"

    value = operand_def(TensorType | UnrankedTensorType)
    result = result_def(TensorType | UnrankedTensorType)

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `:` functional-type(operands, results)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])

    def infer_result_types(self) -> tuple[Attribute | None, ...]:
        return (self.value.type,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return operands

    def verify_(self) -> None:
        check_results(self)
