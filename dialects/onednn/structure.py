"""Ops that move elements, and compute nothing."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import result_def, var_operand_def

from dialects.onednn.base import show
from dialects.onednn.families import RowOp
from dialects.onednn.row import Row
from dialects.support import shapes
from dialects.support.attributes import INT
from dialects.support.shapes import Dim, element_type_of, shape_of, tensor_type


class JoiningOp(RowOp, ABC):
    """dst has the elements of all inputs, one behind the other along an axis."""

    SUMMARY: ClassVar = "Tensors joined along an axis."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on all ports; C2 shapes that differ along the axis at most; "
        "C3 axis from -rank to rank - 1."
    )
    COMMON_ATTRIBUTES: ClassVar = {"axis": INT}
    PORTS: ClassVar = ("src_i",)
    RESULTS: ClassVar = ("dst",)

    src = var_operand_def(TensorType)
    dst = result_def(TensorType)

    def joined_axis(self) -> int:
        """The axis, counted from the first."""
        axis, rank = self.value("axis"), len(shape_of(self.operands[0]))
        if not -rank <= axis < rank:
            raise self.error("axis", given=axis, expected=f"{-rank} to {rank - 1}")
        return axis % rank

    def infer_result_types(self) -> tuple[TensorType, ...]:
        ports = [(self.port(index), value) for index, value in enumerate(self.operands)]
        self.check_same_dtype(ports)
        axis = self.joined_axis()
        beside: shapes.Shape = (None,) * len(shape_of(self.operands[0]))
        for _, value in ports:
            open_along = tuple(None if i == axis else dim for i, dim in enumerate(shape_of(value)))
            if not shapes.compatible(beside, open_along):
                given = ", ".join(f"{port} {show(v)}" for port, v in ports)
                raise self.error("shapes differ", given=given, expected=f"equal sizes but for axis {axis}")
            beside = shapes.merge(beside, open_along)
        along = _total([shape_of(value)[axis] for value in self.operands])
        together = tuple(along if i == axis else dim for i, dim in enumerate(beside))
        return (tensor_type(element_type_of(self.operands[0]), together),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.ROW.meaning(operands, self.joined_axis()),)


def _total(sizes: list[Dim]) -> Dim:
    known = [size for size in sizes if isinstance(size, int)]
    return sum(known) if len(known) == len(sizes) else None


JOINING = (Row("Concat", "the elements of src_0, src_1, ... along the axis", np.concatenate),)
