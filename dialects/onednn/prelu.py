"""PReLU and its gradient: the slope for negative elements is an operand."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.onednn.base import DATA_FORMAT, show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onnx.dims import broadcast_dims
from dialects.support import layouts, shapes, size_guards
from dialects.support.attributes import FLAG
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import Dim, element_type_of, shape_of, tensor_type


class SlopeOp(TableOp, ABC):
    """Base of PReLU and its gradient: alignment of the slope with src."""

    @property
    def src(self) -> SSAValue:
        return self.operands[0]

    @property
    def slope(self) -> SSAValue:
        return self.operands[1]

    @property
    def is_per_channel(self) -> bool:
        """True if the slope is a vector along the channel axis of src, not broadcast as in numpy."""
        return len(shape_of(self.slope)) == 1 < len(shape_of(self.src))

    @property
    def channel_axis(self) -> int:
        return layouts.axis_of(self.value("data_format"), "C", len(shape_of(self.src)) - 2)

    def slope_axes(self) -> tuple[int, ...]:
        """Return the axis of src that each axis of the slope aligns with."""
        rank, own = len(shape_of(self.src)), len(shape_of(self.slope))
        return (self.channel_axis,) if self.is_per_channel else tuple(range(rank - own, rank))

    def check_slope(self) -> None:
        """Check that the slope broadcasts to the shape of src without enlarging it."""
        src, slope = shape_of(self.src), shape_of(self.slope)
        sizes = [src[axis] for axis in self.slope_axes()] if len(slope) <= len(src) else []
        if len(sizes) < len(slope) or not all(map(_fits, slope, sizes)):
            expected = f"one that broadcasts to {shapes.show(src)}"
            hint = f"a vector lies along axis {self.channel_axis}, C" if self.is_per_channel else ""
            raise self.error("shape of slope", given=show(self.slope), expected=expected, hint=hint)

    def _align_slope(self, slope: np.ndarray, rank: int) -> np.ndarray:
        """Reshape the slope to the rank of src."""
        along = self.slope_axes()
        return slope.reshape([slope.shape[along.index(axis)] if axis in along else 1 for axis in range(rank)])


def _fits(slope: Dim, src: Dim) -> bool:
    try:
        return size_guards.equal("slope broadcast to src", broadcast_dims(slope, src), src)
    except GradcError:
        return False


class ParametricReluOp(SlopeOp, ABC):
    """PReLU: dst[i] = src[i] if positive, else slope src[i]."""

    SUMMARY: ClassVar = "PReLU: the slope for negative elements is an operand."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on both ports; C2 slope broadcasts to the shape of src as in numpy; a vector "
        "lies along the channel axis unless per_channel_broadcast is false."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "data_format": DATA_FORMAT,
        "per_channel_broadcast": FLAG.with_default(True),
    }
    PORTS: ClassVar = ("src", "slope")

    data = operand_def(TensorType)
    slopes = operand_def(TensorType)
    dst = result_def(TensorType)

    @property
    def is_per_channel(self) -> bool:
        return super().is_per_channel and self.value("per_channel_broadcast")

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_same_dtype([("src", self.src), ("slope", self.slope)])
        self.check_slope()
        return (tensor_type(element_type_of(self.src), shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, slope = operands
        return (self.SPEC.meaning(src, self._align_slope(slope, src.ndim)),)


class ParametricReluBackwardOp(SlopeOp, ABC):
    """Gradients of PReLU with respect to both operands."""

    SUMMARY: ClassVar = "The gradients of PReLU with respect to its data and its slope."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on all ports; C2 src and diff_dst have one shape; C3 slope broadcasts to it as "
        "in numpy; a vector lies along the channel axis."
    )
    COMMON_ATTRIBUTES: ClassVar = {"data_format": DATA_FORMAT}
    PORTS: ClassVar = ("src", "slope", "diff_dst")

    data = operand_def(TensorType)
    slopes = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    diff_src = result_def(TensorType)
    diff_slope = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        data = [("src", self.src), ("diff_dst", self.diff_dst)]
        self.check_same_dtype([*data, ("slope", self.slope)])
        common = self._check_equal_shapes(data)
        self.check_slope()
        dtype = element_type_of(self.src)
        return (tensor_type(dtype, common), tensor_type(dtype, shape_of(self.slope)))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, slope, diff_dst = operands
        diff_src, diff_slope = self.SPEC.meaning(src, self._align_slope(slope, src.ndim), diff_dst)
        return diff_src, diff_slope.reshape(slope.shape)


def prelu_forward(src: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.where(src > 0, src, src * slope)


def gradients(src: np.ndarray, slope: np.ndarray, diff_dst: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of src and of a slope of its rank."""
    repeated = tuple(axis for axis, size in enumerate(slope.shape) if size == 1)
    terms = np.where(src > 0, 0, diff_dst * src)
    return np.where(src > 0, diff_dst, diff_dst * slope), terms.sum(repeated, keepdims=True)


RECTIFIERS = (OpSpec("PReLU", "src[i] if src[i] > 0, else slope[i] src[i]", prelu_forward),)
RECTIFIERS_BACKWARD = (
    OpSpec(
        "PReLUBackward",
        "diff_dst[i] if src[i] > 0, else slope[i] diff_dst[i]; diff_slope is the sum of src[i] diff_dst[i], "
        "where src[i] is not positive, over all i that share an element of slope",
        gradients,
    ),
)
