"""Matrix products and biases."""

from __future__ import annotations

import contextlib
from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.onednn.base import DATA_FORMAT, show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onnx.dims import broadcast
from dialects.support import dtypes, layouts, shapes, size_guards
from dialects.support.attributes import FLAG, word
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import NamedShape, Shape, element_type_of, shape_of, tensor_type


class ChannelOp(TableOp, ABC):
    """An op whose data has a channel axis."""

    COMMON_ATTRIBUTES: ClassVar = {"data_format": DATA_FORMAT}

    def channel_axis(self, value: SSAValue, port: str = "src") -> int:
        rank = len(shape_of(value))
        if rank < 2:
            raise self.error(f"rank of {port}", given=f"{rank} {show(value)}", expected="2 or more")
        return layouts.axis_of(self.value("data_format"), "C", rank - 2)

    def check_per_channel(self, port: str, value: SSAValue, channels: shapes.Dim) -> None:
        """Check that an operand is a vector with one element per channel."""
        if not size_guards.equal_shapes(port, shape_of(value), (channels,)):
            expected = shapes.show((channels,))
            hint = f"data_format is {self.value('data_format')}"
            raise self.error(f"shape of {port}", given=show(value), expected=expected, hint=hint)


class BiasOp(ChannelOp, ABC):
    """Adds a bias per channel."""

    SUMMARY: ClassVar = "Adds a number per channel to each element of the channel."
    CONSTRAINTS: ClassVar = "C1 one float dtype on both ports; C2 bias is a vector of the channels of src."

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
        return (self.SPEC.meaning(*operands, axis=self.channel_axis(self.src)),)


class BiasBackwardOp(ChannelOp, ABC):
    """Gradient of a bias: the sum of diff_dst per channel."""

    SUMMARY: ClassVar = "The gradient of an added bias: the sum of each channel."
    CONSTRAINTS: ClassVar = "C1 a float dtype; C2 two axes or more."

    diff_dst = operand_def(TensorType)
    diff_bias = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("diff_dst", self.diff_dst)
        channels = shape_of(self.diff_dst)[self.channel_axis(self.diff_dst, "diff_dst")]
        return (tensor_type(element_type_of(self.diff_dst), (channels,)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, axis=self.channel_axis(self.diff_dst)),)


class ProductOp(TableOp, ABC):
    """Matrix product of src and weights, plus a bias."""

    SUMMARY: ClassVar = "Products of matrices, the last two axes, as numpy's matmul has them, plus a bias."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on all ports; dst has it, or f32; C2 the inner sizes are equal, and the axes "
        "before the last two broadcast; a vector is a matrix of one row (src) or column (weights), which dst "
        "does not have, and is not transposed; C3 bias broadcasts to the shape of dst, or is one number."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "transpose_a": FLAG.with_default(False),
        "transpose_b": FLAG.with_default(False),
        "accumulation_mode": word("strict", "relaxed", "any", "f32", "s32", "f16", default="strict"),
    }
    CHOOSES_DTYPE: ClassVar = True

    src = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return (dtype, "f32") if dtype in dtypes.HALVES else (dtype,)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape[-1:] if port == "bias" else shape

    def is_transposed(self, port: str) -> bool:
        """Return whether the last two axes of an operand are exchanged; never those of a vector."""
        value, flag = (self.src, "transpose_a") if port == "src" else (self.weights, "transpose_b")
        return len(shape_of(value)) > 1 and self.value(flag)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        ports = zip(self.PORTS, self.operands, strict=False)
        self.check_same_dtype(list(ports))
        dtype = self.check_chosen(self._check_dtype("src", self.src))
        shape = self._product_shape()
        if self.bias is not None:
            self._check_bias(self.bias, shape)
        return (tensor_type(dtype, shape),)

    def _product_shape(self) -> Shape:
        sides = [(port, value) for port, value in zip(self.PORTS, self.operands[:2], strict=False)]
        for port, value in sides:
            if not shape_of(value):
                raise self.error(f"rank of {port}", given=0, expected="1 or more")
        a, b = (_swap_last_axes(shape_of(value), self.is_transposed(port)) for port, value in sides)
        if not size_guards.equal("inner sizes", a[-1:][0], b[-2:][0]):
            given = ", ".join(f"{port} {show(value)}" for port, value in sides)
            raise self.error("inner sizes differ", given=given, expected="equal ones", hint=self._flags())
        batch = self._broadcast_batch(a[:-2], b[:-2])
        return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))

    def _flags(self) -> str:
        return ", ".join(f"{name} {str(self.value(name)).lower()}" for name in ("transpose_a", "transpose_b"))

    def _broadcast_batch(self, a: Shape, b: Shape) -> Shape:
        try:
            return broadcast([a, b])
        except GradcError:
            given = f"{shapes.show(a)} and {shapes.show(b)}"
            raise self.error("axes before the matrices do not broadcast", given=given) from None

    def _check_bias(self, bias: SSAValue, shape: Shape) -> None:
        if not shape and self.has_single_bias:
            return
        with contextlib.suppress(GradcError):
            together = broadcast([shape_of(bias), shape])
            if len(together) == len(shape) and size_guards.equal_shapes("bias", together, shape):
                return
        expected = f"one that broadcasts to {shapes.show(shape)}"
        raise self.error("shape of bias", given=show(bias), expected=expected)

    @property
    def has_single_bias(self) -> bool:
        """True if the bias is a vector of one element; for a product of two vectors it acts as a scalar."""
        return self.bias is not None and shape_of(self.bias) == (1,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        a, b, *bias = operands
        a = a.swapaxes(-1, -2) if self.is_transposed("src") else a
        b = b.swapaxes(-1, -2) if self.is_transposed("weights") else b
        dst = self.SPEC.meaning(a, b, *bias)
        return (dst.reshape(()) if a.ndim == b.ndim == 1 else dst,)


def _swap_last_axes(shape: Shape, is_transposed: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if is_transposed else shape


def along(vector: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Reshape a vector to broadcast along an axis."""
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def add_bias(src: np.ndarray, bias: np.ndarray, axis: int) -> np.ndarray:
    return src + along(bias, axis, src.ndim)


def sum_channels(diff_dst: np.ndarray, axis: int) -> np.ndarray:
    return diff_dst.sum(tuple(i for i in range(diff_dst.ndim) if i != axis))


def product(src: np.ndarray, weights: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
    return np.matmul(src, weights) + bias


BIAS = (OpSpec("BiasAdd", "src[i] + bias[c], c the channel of i", add_bias),)
BIAS_BACKWARD = (OpSpec("BiasAddBackward", "the sum of diff_dst[i] over the i of a channel", sum_channels),)
PRODUCT = (OpSpec("MatMul", "sum of src[i, k] weights[k, j] over k, plus bias[j]", product),)
