"""Ops that bring elements to mean 0 and variance 1."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def, var_operand_def

from dialects.onednn.base import show
from dialects.onednn.families import RowOp
from dialects.onednn.row import Row
from dialects.support import dtypes, shapes
from dialects.support.attributes import FLAG, FLOAT, INT
from dialects.support.shapes import NamedShape, element_type_of, shape_of, tensor_type


class LayerNormalizationOp(RowOp, ABC):
    """Each slice of src over its last axes, with mean 0 and variance 1, scaled and shifted."""

    SUMMARY: ClassVar = (
        "Slices over the last axes, brought to mean 0 and variance 1, then scaled and shifted."
    )
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; gamma and beta have one, that of src or f32, and the statistics have it, too (f32 "
        "without gamma); C2 begin_norm_axis from -rank to rank - 1; C3 gamma and beta are given where "
        "use_affine is true, and there alone, in the shape of the normalised axes; C4 a document lists mean "
        "and variance where keep_stats is true."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        "keep_stats": FLAG.with_default(True),
        "begin_norm_axis": INT.with_default(-1),
        "use_affine": FLAG.with_default(True),
        "epsilon": FLOAT.with_default(1e-5),
    }
    PORTS: ClassVar = ("src", "gamma", "beta")
    RESULTS: ClassVar = ("dst", "mean", "variance")

    src = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma and beta, or neither."""
    dst = result_def(TensorType)
    mean = result_def(TensorType)
    variance = result_def(TensorType)

    @property
    def gamma(self) -> SSAValue | None:
        return self.affine[0] if self.affine else None

    @property
    def beta(self) -> SSAValue | None:
        return self.affine[1] if self.affine else None

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return dtype if port == "src" or dtype == "f64" else "f32"

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port == "src" else shape[-1:]

    def required_results(self) -> int:
        return 3 if self.value("keep_stats") else 1

    def first_axis(self) -> int:
        """The first normalised axis, counted from the first."""
        axis, rank = self.value("begin_norm_axis"), len(shape_of(self.src))
        if not -rank <= axis < rank:
            raise self.error("begin_norm_axis", given=axis, expected=f"{-rank} to {rank - 1}")
        return axis % rank

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_float("src", self.src)
        axis, shape = self.first_axis(), shape_of(self.src)
        self._check_count()
        for port, value in self._named():
            if not shapes.compatible(shape_of(value), shape[axis:]):
                expected, hint = (
                    shapes.show(shape[axis:]),
                    f"begin_norm_axis is {self.value('begin_norm_axis')}",
                )
                raise self.error(f"shape of {port}", given=show(value), expected=expected, hint=hint)
        statistics = tensor_type(self._statistics_dtype(), shape[:axis])
        return (tensor_type(element_type_of(self.src), shape), statistics, statistics)

    def _named(self) -> list[tuple[str, SSAValue]]:
        return list(zip(self.PORTS[1:], self.affine, strict=False))

    def _check_count(self) -> None:
        expected = 3 if self.value("use_affine") else 1
        if len(self.operands) != expected:
            missing = ", ".join(self.PORTS[len(self.operands) : expected])
            stated = f"use_affine is {str(self.value('use_affine')).lower()}"
            hint = f"{stated}: missing {missing}" if missing else stated
            raise self.error("number of inputs", given=len(self.operands), expected=expected, hint=hint)

    def _statistics_dtype(self) -> Attribute:
        """That of gamma and beta; without them f32, or f64 for src of f64."""
        given = dtypes.name_of(element_type_of(self.src))
        admitted = (given,) if given in ("f32", "f64") else ("f32", given)
        names = [(port, dtypes.name_of(element_type_of(value))) for port, value in self._named()]
        for port, name in names:
            if name not in admitted or name != names[0][1]:
                expected = f"that of gamma, {names[0][1]}" if name in admitted else " or ".join(admitted)
                raise self.error(f"dtype of {port}", given=name, expected=expected)
        if self.gamma is not None:
            return element_type_of(self.gamma)
        return element_type_of(self.src) if given == "f64" else f32

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.ROW.meaning(*operands, axis=self.first_axis(), epsilon=self.value("epsilon"))


def normalized(
    src: np.ndarray,
    gamma: np.ndarray | float = 1.0,
    beta: np.ndarray | float = 0.0,
    *,
    axis: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The result, and mean and variance of each slice from the axis on."""
    over = tuple(range(axis, src.ndim))
    mean = src.mean(over, keepdims=True)
    variance = np.square(src - mean).mean(over, keepdims=True)
    dst = (src - mean) / np.sqrt(variance + epsilon) * gamma + beta
    return dst, mean.reshape(src.shape[:axis]), variance.reshape(src.shape[:axis])


LAYER_NORMALIZATION = (
    Row(
        "LayerNorm",
        "(src - mean) / sqrt(variance + epsilon) gamma + beta; mean and variance are those of each "
        "slice over the axes from begin_norm_axis on",
        normalized,
    ),
)
