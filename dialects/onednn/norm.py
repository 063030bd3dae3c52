"""Normalisation ops: to mean 0 and variance 1, or to mean square 1."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def, var_operand_def

from dialects.onednn.base import DATA_FORMAT, show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.support import dtypes, layouts, shapes, size_guards
from dialects.support.attributes import FLAG, FLOAT, INT, AttributeSpec
from dialects.support.shapes import Dim, NamedShape, Shape, element_type_of, shape_of, tensor_type

EPSILON = FLOAT.with_default(1e-5)
LAST_AXES: dict[str, AttributeSpec[Any]] = {"begin_norm_axis": INT.with_default(-1)}


class NormalizationOp(TableOp, ABC):
    """An op with parameters (scale, shift, statistics) of one dtype."""

    DATA: ClassVar[tuple[str, ...]] = ("src",)
    """The data ports, which precede the parameters."""

    @property
    def data(self) -> SSAValue:
        return self.operands[0]

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return dtype if port in cls.DATA or dtype == "f64" else "f32"

    def parameters(self) -> list[tuple[str, SSAValue]]:
        """Return the given parameters with their ports."""
        first = len(self.DATA)
        return list(zip(self.PORTS[first:], self.operands[first:], strict=False))

    def parameter(self, port: str) -> SSAValue | None:
        return dict(self.parameters()).get(port)

    def check_data(self) -> Shape:
        """Check that the data ports have one float dtype; return their shape."""
        ports = list(zip(self.DATA, self.operands, strict=False))
        self.check_same_dtype(ports)
        return self._check_equal_shapes(ports)

    def parameters_dtype(self) -> Attribute:
        """Return the dtype of the given parameters; without any, f32, or f64 for f64 data."""
        given = dtypes.name_of(element_type_of(self.data))
        admitted = (given,) if given in ("f32", "f64") else ("f32", given)
        known = self.parameters()
        names = [(port, dtypes.name_of(element_type_of(value))) for port, value in known]
        for port, name in names:
            if name not in admitted or name != names[0][1]:
                first, its = names[0]
                expected = f"that of {first}, {its}" if name in admitted else " or ".join(admitted)
                raise self.error(f"dtype of {port}", given=name, expected=expected)
        if known:
            return element_type_of(known[0][1])
        return element_type_of(self.data) if given == "f64" else f32

    def check_parameter(self, port: str, value: SSAValue, expected: Sequence[Dim], hint: str) -> None:
        if not size_guards.equal_shapes(port, shape_of(value), expected):
            raise self.error(f"shape of {port}", given=show(value), expected=shapes.show(expected), hint=hint)

    def check_affine(self, before: int) -> None:
        """Check that gamma and beta are present iff `use_affine`, after `before` other operands."""
        uses = self.value("use_affine")
        expected = before + 2 if uses else before
        if len(self.operands) != expected:
            missing = ", ".join(self.PORTS[len(self.operands) : expected])
            stated = f"use_affine is {str(uses).lower()}"
            hint = f"{stated}: missing {missing}" if missing else stated
            raise self.error("number of inputs", given=len(self.operands), expected=expected, hint=hint)


class ForwardOp(NormalizationOp, ABC):
    """An op with gamma and beta, or neither, that also returns the statistics."""

    PORTS: ClassVar = ("src", "gamma", "beta")

    src = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma and beta, or neither."""
    dst = result_def(TensorType)
    mean = result_def(TensorType)
    variance = result_def(TensorType)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port == "src" else shape[-1:]

    def fewest_results(self) -> int:
        return 3 if self.value("keep_stats") else 1

    @classmethod
    def undeclared_dtype(cls, index: int, operands: Sequence[Attribute]) -> Attribute:
        return operands[0] if index == 0 or dtypes.name_of(operands[0]) == "f64" else f32

    def statistics_dtype(self) -> Attribute:
        """Return the dtype of the parameters; without any, the declared dtype of mean: src's, or f32."""
        known, own = self.parameters_dtype(), element_type_of(self.src)
        return own if not self.parameters() and element_type_of(self.mean) == own else known

    def types_with_statistics(self, shape: Shape, statistics: Shape) -> tuple[TensorType, ...]:
        kept = tensor_type(self.statistics_dtype(), statistics)
        return (tensor_type(element_type_of(self.src), shape), kept, kept)


class LastAxesOp(NormalizationOp, ABC):
    """An op that normalises over the axes from `begin_norm_axis` on."""

    def first_axis(self) -> int:
        """Return the first normalised axis as a non-negative index."""
        return self.resolve_axis(self.data, "begin_norm_axis")

    def check_last(self, port: str, value: SSAValue, shape: Shape) -> None:
        """Check that a parameter has the shape of the normalised axes."""
        hint = f"begin_norm_axis is {self.value('begin_norm_axis')}"
        self.check_parameter(port, value, shape[self.first_axis() :], hint)

    def arguments(self) -> dict[str, Any]:
        return {"axis": self.first_axis(), "epsilon": self.value("epsilon")}


class LayerNormalizationOp(ForwardOp, LastAxesOp, ABC):
    """Normalises each slice over the last axes to mean 0 and variance 1, then scales and shifts."""

    SUMMARY: ClassVar = (
        "Normalises slices over the last axes to mean 0 and variance 1, then scales and shifts."
    )
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; gamma, beta and the statistics have one dtype, that of src or f32 (without gamma "
        "the declared one, else f32); C2 begin_norm_axis from -rank to rank - 1; C3 gamma and beta are given "
        "if and only if use_affine is true, in the shape of the normalised axes; C4 a document lists mean "
        "and variance if keep_stats is true."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "keep_stats": FLAG.with_default(True),
        **LAST_AXES,
        "use_affine": FLAG.with_default(True),
        "epsilon": EPSILON,
    }

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape = self.check_data()
        axis = self.first_axis()
        self.check_affine(1)
        for port, value in self.parameters():
            self.check_last(port, value, shape)
        return self.types_with_statistics(shape, shape[:axis])


class LayerNormalizationBackwardOp(LastAxesOp, ABC):
    """Gradients of layer normalisation, by given statistics."""

    SUMMARY: ClassVar = "The gradients of a layer normalisation, for given mean and variance."
    CONSTRAINTS: ClassVar = (
        "C1 src and diff_dst have one float dtype and one shape; the others have one dtype, that or f32; "
        "C2 begin_norm_axis from -rank to rank - 1; C3 mean and variance have the shape of the other "
        "axes; gamma and beta that of the normalised ones; gamma is given if and only if use_affine is true; "
        "beta is not read."
    )
    COMMON_ATTRIBUTES: ClassVar = {**LAST_AXES, "use_affine": FLAG.with_default(True), "epsilon": EPSILON}
    DATA: ClassVar = ("src", "diff_dst")
    PORTS: ClassVar = ("src", "diff_dst", "mean", "variance", "gamma", "beta")

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma, perhaps beta, or neither."""
    diff_src = result_def(TensorType)
    diff_gamma = result_def(TensorType)
    diff_beta = result_def(TensorType)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return {"gamma": shape[-1:], "beta": shape[-1:], "mean": shape[:-1], "variance": shape[:-1]}.get(
            port, shape
        )

    def fewest_results(self) -> int:
        return 3 if self.value("use_affine") else 1

    def check_affine(self, before: int) -> None:
        if not (self.value("use_affine") and len(self.operands) == before + 1):
            super().check_affine(before)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape, axis = self.check_data(), self.first_axis()
        self.check_affine(4)
        for port, value in self.parameters():
            if port in ("gamma", "beta"):
                self.check_last(port, value, shape)
                continue
            self.check_parameter(
                port, value, shape[:axis], f"begin_norm_axis is {self.value('begin_norm_axis')}"
            )
        affine = tensor_type(self.parameters_dtype(), shape[axis:])
        return (tensor_type(element_type_of(self.src), shape), affine, affine)


class RMSNormalizationOp(LastAxesOp, ABC):
    """Normalises each slice over the last axes to mean square 1, then scales."""

    SUMMARY: ClassVar = "Normalises slices over the last axes to a mean square of 1, then scales."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; gamma has it, or f32; C2 begin_norm_axis from -rank to rank - 1; C3 gamma has the "
        "shape of the normalised axes."
    )
    COMMON_ATTRIBUTES: ClassVar = {**LAST_AXES, "epsilon": EPSILON}
    PORTS: ClassVar = ("src", "gamma")

    src = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma, or nothing."""
    dst = result_def(TensorType)

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port == "src" else shape[-1:]

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape = self.check_data()
        self.parameters_dtype()
        self.first_axis()
        for port, value in self.parameters():
            self.check_last(port, value, shape)
        return (tensor_type(element_type_of(self.src), shape),)


class GroupNormalizationOp(ForwardOp, ABC):
    """Normalises each group of channels of each sample to mean 0 and variance 1, then scales and shifts."""

    SUMMARY: ClassVar = "Normalises groups of channels to mean 0 and variance 1, then scales and shifts."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; gamma, beta and the statistics have one dtype, that of src or f32 (without gamma "
        "the declared one, else f32); C2 groups divides the channels; C3 gamma and beta are given if and "
        "only if use_affine is true, with an element per channel; C4 a document lists mean and variance if "
        "keep_stats is true."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "groups": INT,
        "keep_stats": FLAG.with_default(True),
        "use_affine": FLAG.with_default(True),
        "epsilon": EPSILON,
        "data_format": DATA_FORMAT,
    }

    def channel_axis(self) -> int:
        return channel_axis(self, self.src)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape = self.check_data()
        channels, groups = shape[self.channel_axis()], self.value("groups")
        self.check_affine(1)
        for port, value in self.parameters():
            self.check_parameter(port, value, (channels,), f"data_format is {self.value('data_format')}")
        if groups < 1 or channels == 0 or (isinstance(channels, int) and channels % groups):
            raise self.error("groups", given=groups, expected=f"a divisor of the channels, {channels}")
        size_guards.positive("channels", channels)
        size_guards.divides("channels in groups", groups, channels)
        return self.types_with_statistics(shape, (shape[0], groups))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        given = {name: self.value(name) for name in ("groups", "epsilon")}
        return self.SPEC.meaning(*operands, axis=self.channel_axis(), **given)


def channel_axis(op: TableOp, value: SSAValue) -> int:
    """Return the channel axis; checks that the data has one."""
    rank = len(shape_of(value))
    if rank < 2:
        raise op.error("rank of src", given=f"{rank} {show(value)}", expected="2 or more")
    return layouts.axis_of(op.value("data_format"), "C", rank - 2)


def layer_norm(
    src: np.ndarray,
    gamma: np.ndarray | float = 1.0,
    beta: np.ndarray | float = 0.0,
    *,
    axis: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result, and the mean and variance of each slice from the axis on."""
    over = tuple(range(axis, src.ndim))
    mean = src.mean(over, keepdims=True)
    variance = np.square(src - mean).mean(over, keepdims=True)
    dst = (src - mean) / np.sqrt(variance + epsilon) * gamma + beta
    return dst, mean.reshape(src.shape[:axis]), variance.reshape(src.shape[:axis])


def gradients(
    src: np.ndarray,
    diff_dst: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    gamma: np.ndarray | float = 1.0,
    beta: np.ndarray | None = None,
    *,
    axis: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of src, gamma and beta; mean and variance depend on src."""
    over, kept = tuple(range(axis, src.ndim)), tuple(range(axis))
    shape = (*src.shape[:axis], *(1,) * (src.ndim - axis))
    deviation = np.sqrt(variance + epsilon).reshape(shape)
    normal = (src - mean.reshape(shape)) / deviation
    terms = diff_dst * gamma
    rest = terms - terms.mean(over, keepdims=True) - normal * (terms * normal).mean(over, keepdims=True)
    return rest / deviation, (diff_dst * normal).sum(kept), diff_dst.sum(kept)


def rms_norm(src: np.ndarray, gamma: np.ndarray | float = 1.0, *, axis: int, epsilon: float) -> np.ndarray:
    over = tuple(range(axis, src.ndim))
    return src / np.sqrt(np.square(src).mean(over, keepdims=True) + epsilon) * gamma


def group_norm(
    src: np.ndarray,
    gamma: np.ndarray | None = None,
    beta: np.ndarray | None = None,
    *,
    axis: int,
    groups: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result, and the mean and variance of each group of each sample."""
    first = np.moveaxis(src, axis, 1)
    batch, channels = first.shape[:2]
    rows = first.reshape(batch, groups, int(np.prod(first.shape[1:])) // groups)
    mean, variance = rows.mean(2), rows.var(2)
    normal = ((rows - mean[..., None]) / np.sqrt(variance + epsilon)[..., None]).reshape(first.shape)
    shape = (channels, *(1,) * (src.ndim - 2))
    scaled = normal if gamma is None else normal * gamma.reshape(shape)
    shifted = scaled if beta is None else scaled + beta.reshape(shape)
    return np.moveaxis(shifted, 1, axis), mean, variance


LAYER_NORMALIZATION = (
    OpSpec(
        "LayerNorm",
        "(src - mean) / sqrt(variance + epsilon) gamma + beta; mean and variance are those of each "
        "slice over the axes from begin_norm_axis on",
        layer_norm,
    ),
)

LAYER_NORMALIZATION_BACKWARD = (
    OpSpec(
        "LayerNormBackward",
        "r (g - mean of g - n mean of g n), with r = 1 / sqrt(variance + epsilon), n = (src - mean) r and g "
        "= diff_dst gamma; diff_gamma is the sum of diff_dst n, diff_beta that of diff_dst, over all slices",
        gradients,
    ),
)
RMS_NORMALIZATION = (
    OpSpec(
        "RMSNorm",
        "src / sqrt(mean of src^2 + epsilon) gamma; the mean is that of each slice over the axes from "
        "begin_norm_axis on",
        rms_norm,
    ),
)
GROUP_NORMALIZATION = (
    OpSpec(
        "GroupNorm",
        "(src - mean) / sqrt(variance + epsilon) gamma + beta; mean and variance are those of each group of "
        "channels of each sample",
        group_norm,
    ),
)
