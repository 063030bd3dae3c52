"""Products of matrices, and biases."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.onednn.base import DATA_FORMAT, show
from dialects.onednn.families import RowOp
from dialects.onednn.row import Row
from dialects.support import layouts, shapes
from dialects.support.shapes import NamedShape, element_type_of, shape_of, tensor_type


class ChannelOp(RowOp, ABC):
    """An op whose data has a channel axis."""

    COMMON_ATTRIBUTES: ClassVar = {"data_format": DATA_FORMAT}

    def channel_axis(self, value: SSAValue, port: str = "src") -> int:
        rank = len(shape_of(value))
        if rank < 2:
            raise self.error(f"rank of {port}", given=f"{rank} {show(value)}", expected="2 or more")
        return layouts.axis_of(self.value("data_format"), "C", rank - 2)

    def check_per_channel(self, port: str, value: SSAValue, channels: shapes.Dim) -> None:
        """A vector with an element per channel."""
        if not shapes.compatible(shape_of(value), (channels,)):
            expected = shapes.show((channels,))
            hint = f"data_format is {self.value('data_format')}"
            raise self.error(f"shape of {port}", given=show(value), expected=expected, hint=hint)


class BiasOp(ChannelOp, ABC):
    """dst[i] is src[i] plus the bias of its channel."""

    SUMMARY: ClassVar = "A number per channel, added to each element of the channel."
    CONSTRAINTS: ClassVar = "C1 one float dtype on both ports; C2 bias is a vector of the channels of src."
    PORTS: ClassVar = ("src", "bias")
    RESULTS: ClassVar = ("dst",)

    src = operand_def(TensorType)
    bias = operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port == "src" else shape[-1:]

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_same_dtype([("src", self.src), ("bias", self.bias)])
        shape = shape_of(self.src)
        self.check_per_channel("bias", self.bias, shape[self.channel_axis(self.src)])
        return (tensor_type(element_type_of(self.src), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.ROW.meaning(*operands, axis=self.channel_axis(self.src)),)


def along(vector: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A vector in the shape that broadcasts along an axis."""
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def biased(src: np.ndarray, bias: np.ndarray, axis: int) -> np.ndarray:
    return src + along(bias, axis, src.ndim)


BIAS = (Row("BiasAdd", "src[i] + bias[c], c the channel of i", biased),)
