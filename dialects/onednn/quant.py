"""Quantization to integers of few bits or 8-bit floats, and dequantization."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.onednn.base import show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onnx.dims import floordiv
from dialects.support import dtypes, shapes, size_guards
from dialects.support.attributes import FLOATS, INT, INTS, word
from dialects.support.diagnostics import Diagnostic
from dialects.support.shapes import Dim, NamedShape, element_type_of, shape_of, tensor_type

INTEGERS = ("u8", "s8")
EIGHT_BITS = (*INTEGERS, "f8_e4m3", "f8_e5m2")
FOUR_BITS = ("u4", "s4")
WHOLE = word("per_tensor", "per_channel", default="per_tensor")
GROUPS = word("per_tensor", "per_channel", "per_group", default="per_tensor")


class ScalingOp(TableOp, ABC):
    """An op with a scale per tensor, per index of an axis, or per group of elements."""

    COMMON_ATTRIBUTES: ClassVar = {"qtype": WHOLE, "axis": INT.with_default(1)}

    @property
    def data(self) -> SSAValue:
        return self.operands[0]

    def quantization_axis(self) -> int | None:
        """Return the axis that scales index; None for per-tensor scales or groups."""
        return self.resolve_axis(self.data) if self.value("qtype") == "per_channel" else None

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield a remark on a negative axis, except -1: the library rejects it where it is not fused."""
        axis, given = self.quantization_axis(), self.value("axis")
        if axis is not None and given < -1 and shape_of(self.data)[axis] != 1:
            yield self.remark(
                f"axis {given} is axis {axis}, as the page says; the library, if it does not fuse the op, "
                "uses the first scale for all elements"
            )

    def align(self, vector: np.ndarray) -> np.ndarray:
        """Reshape a vector of scales or zero points to broadcast to the data."""
        axis, rank = self.quantization_axis(), len(shape_of(self.data))
        if axis is None:
            return vector.reshape(())
        return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


class StaticScalingOp(ScalingOp, ABC):
    """An op whose scales and zero points are attributes."""

    CONSTRAINTS: ClassVar = (
        "C1 the dtypes listed here; C2 axis from -rank to rank - 1; C3 one scale per tensor, or one for each "
        "index of the axis, and as many zps or none; C4 zps are numbers of the integer dtype, and 0 for f8."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        **ScalingOp.COMMON_ATTRIBUTES,
        "scales": FLOATS,
        "zps": INTS.with_default(()),
    }
    UNSET_WHEN_ZERO: ClassVar = ("zps",)
    SAMPLE: ClassVar = {"scales": [0.5]}

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def check_scales(self, integer: str) -> None:
        """Check scales and zero points against the low-precision dtype `integer`."""
        scales, zps, axis = self.value("scales"), self.value("zps"), self.quantization_axis()
        size: Dim = 1 if axis is None else shape_of(self.src)[axis]
        if not size_guards.equal("length of scales", size, len(scales)):
            raise self.error(
                "length of scales", given=len(scales), expected=size, hint=f"qtype {self.value('qtype')}"
            )
        if zps and len(zps) != len(scales):
            raise self.error("length of zps", given=len(zps), expected=len(scales))
        low, high = _range(integer)
        for zero in zps:
            if not low <= zero <= high:
                raise self.error("zps", given=zero, expected=f"{low} to {high}", hint=f"for {integer}")

    def given(self) -> tuple[np.ndarray, np.ndarray]:
        """Return scales and zero points, reshaped to broadcast to the data."""
        scales = np.array(self.value("scales"), np.float32).astype(np.float64)
        zps = np.array(self.value("zps") or [0] * scales.size, np.float64)
        return self.align(scales), self.align(zps)


class QuantizationOp(StaticScalingOp, ABC):
    SUMMARY: ClassVar = "Floats in a dtype of eight bits, by scales that are attributes."
    CHOOSES_DTYPE: ClassVar = True

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return EIGHT_BITS

    def infer_result_types(self) -> tuple[TensorType, ...]:
        dtype = self.check_chosen(self._check_dtype("src", self.src))
        self.check_scales(dtypes.name_of(dtype))
        return (tensor_type(dtype, shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        scales, zps = self.given()
        return (self.SPEC.meaning(*operands, scales, zps, dtypes.name_of(element_type_of(self.dst))),)


class DequantizationOp(StaticScalingOp, ABC):
    SUMMARY: ClassVar = "Numbers of eight bits as floats, by scales that are attributes."

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_scales(self._check_dtype("src", self.src))
        return (tensor_type(f32, shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, *self.given()),)


class DynamicScalingOp(ScalingOp, ABC):
    """An op whose scales and zero points are inputs."""

    ZERO_POINTS: ClassVar = (*INTEGERS, "s32")
    SCALES: ClassVar[tuple[str, ...]] = ("f32",)

    src = operand_def(TensorType)
    scales = operand_def(TensorType)
    zps = opt_operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return {"src": dtype, "scales": "f32"}.get(port, "s8" if dtype == "f32" else dtype)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port == "src" else (1,)

    def groups(self) -> tuple[int, ...]:
        """Return the elements that share a scale, per axis; () without groups."""
        return ()

    def check_scales(self) -> None:
        names = {"scales": self.SCALES, "zps": self.ZERO_POINTS}
        for port, value in zip(self.PORTS[1:], self.operands[1:], strict=False):
            given = dtypes.name_of(element_type_of(value))
            if given not in names[port]:
                raise self.error(f"dtype of {port}", given=given, expected=f"one of {', '.join(names[port])}")
            expected = self.scales_shape()
            is_scalar = expected == (1,) and shape_of(value) == ()
            if not (is_scalar or size_guards.equal_shapes(port, shape_of(value), expected)):
                hint = f"qtype {self.value('qtype')}"
                raise self.error(
                    f"shape of {port}", given=show(value), expected=shapes.show(expected), hint=hint
                )

    def scales_shape(self) -> tuple[Dim, ...]:
        axis = self.quantization_axis()
        return (1,) if axis is None else (shape_of(self.src)[axis],)


class DynamicQuantizationOp(DynamicScalingOp, ABC):
    SUMMARY: ClassVar = "Floats in a dtype of eight bits, by scales that are inputs."
    CONSTRAINTS: ClassVar = (
        "C1 src and scales are f32, zps u8, s8 or s32; C2 axis from -rank to rank - 1; C3 one scale per "
        "tensor, or one for each index of the axis, and as many zps."
    )
    CHOOSES_DTYPE: ClassVar = True

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return INTEGERS

    def infer_result_types(self) -> tuple[TensorType, ...]:
        dtype = self.check_chosen(self._check_dtype("src", self.src))
        self.check_scales()
        return (tensor_type(dtype, shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, *vectors = operands
        scales, *zps = map(self.align, vectors)
        zero = zps[0].astype(np.float64) if zps else np.zeros(())
        return (self.SPEC.meaning(src, scales, zero, dtypes.name_of(element_type_of(self.dst))),)


class DynamicDequantizationOp(DynamicScalingOp, ABC):
    SUMMARY: ClassVar = "Integers of few bits as floats, by scales that are inputs."
    CONSTRAINTS: ClassVar = (
        "C1 src is u8, s8, u4 or s4, scales and dst have one float dtype, zps u8, s8, u4, s4 or s32; "
        "C2 axis from -rank to rank - 1; C3 one scale per tensor, or one for each index of the axis, or with "
        "per_group one for each block of group_shape, which divides the sizes of src; as many zps."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "qtype": GROUPS,
        "axis": INT.with_default(1),
        "group_shape": INTS.with_default(()),
    }
    UNSET_WHEN_ZERO: ClassVar = ("group_shape",)
    ZERO_POINTS: ClassVar = (*INTEGERS, *FOUR_BITS, "s32")
    SCALES: ClassVar = ("f32", "bf16", "f16")

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        self.check_scales()
        return (tensor_type(element_type_of(self.scales), shape_of(self.src)),)

    def groups(self) -> tuple[int, ...]:
        return self.value("group_shape") if self.value("qtype") == "per_group" else ()

    def scales_shape(self) -> tuple[Dim, ...]:
        groups, shape = self.groups(), shape_of(self.src)
        if self.value("qtype") != "per_group":
            return super().scales_shape()
        if len(groups) != len(shape):
            raise self.error("length of group_shape", given=len(groups), expected=len(shape))
        for group, size in zip(groups, shape, strict=True):
            if group < 1 or (isinstance(size, int) and size % group):
                expected = f"divisors of {shapes.show(shape)}"
                raise self.error("group_shape", given=list(groups), expected=expected)
            size_guards.divides(f"src in groups of {group}", group, size)
        return tuple(floordiv(size, group) for group, size in zip(groups, shape, strict=True))

    def align(self, vector: np.ndarray) -> np.ndarray:
        if not self.groups():
            return super().align(vector)
        for axis, group in enumerate(self.groups()):
            vector = vector.repeat(group, axis)
        return vector

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, *vectors = operands
        scales, *zps = map(self.align, vectors)
        return (self.SPEC.meaning(src, scales, zps[0] if zps else 0),)


def _range(dtype: str) -> tuple[int, int]:
    """Return the range of zero points; those of floats are 0."""
    return {"u8": (0, 255), "s8": (-128, 127)}.get(dtype, (0, 0))


def quantize(src: np.ndarray, scales: np.ndarray, zps: np.ndarray, dtype: str) -> np.ndarray:
    """Quantize in f32 with reciprocal scales, like the library: quotients would round ties differently."""
    low, high = _range(dtype)
    inverses = np.float32(1) / scales.astype(np.float32)
    sums = src.astype(np.float32) * inverses + zps.astype(np.float32)
    return sums if high == 0 else np.clip(np.rint(sums), low, high)


def dequantize(src: np.ndarray, scales: np.ndarray, zps: np.ndarray | int) -> np.ndarray:
    return (src.astype(np.float64) - zps) * scales


_FORWARD = (
    "src[i] (1 / scale) + zp, rounded half to even and clipped to the range of the dtype; f8 is not "
    "clipped: beyond its range it is inf, or NaN for f8_e4m3"
)
QUANTIZATION = (OpSpec("Quantize", _FORWARD, quantize, dtypes=("f32",)),)
DEQUANTIZATION = (OpSpec("Dequantize", "(src[i] - zp) scale", dequantize, dtypes=EIGHT_BITS),)
DYNAMIC_QUANTIZATION = (
    OpSpec(
        "DynamicQuantize",
        "src[i] (1 / scale) + zp, rounded half to even and clipped to the range of the dtype",
        quantize,
        dtypes=("f32",),
    ),
)
DYNAMIC_DEQUANTIZATION = (
    OpSpec("DynamicDequantize", "(src[i] - zp) scale", dequantize, dtypes=(*INTEGERS, *FOUR_BITS)),
)
