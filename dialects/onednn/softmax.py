# pyright: standard
# (numpy meanings in lambdas, which get their types from no annotation)
"""Softmax, its logarithm, and their gradients."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.support.attributes import INT, word
from dialects.support.diagnostics import Diagnostic
from dialects.support.dtypes import HALVES
from dialects.support.shapes import element_type_of, shape_of, tensor_type

FIRST, LAST = INT.with_default(1), INT.with_default(-1)
MODE = word("none", "inf_as_zero", default="none")


def _same_or_f32(dtype: str) -> tuple[str, ...]:
    return (dtype, "f32") if dtype in HALVES else (dtype,)


class SoftmaxFamilyOp(TableOp, ABC):
    """Softmax along an axis; `stats` is the log of the sum of exponentials."""

    SUMMARY: ClassVar = "Each exponential divided by the sum of those along an axis."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; dst has that of src, f32 for a half src, or a half type for src of f32; stats is "
        "f32; C2 axis from -rank to rank - 1."
    )
    CHOOSES_DTYPE: ClassVar = True

    src = operand_def(TensorType)
    dst = result_def(TensorType)
    stats = result_def(TensorType)

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return (dtype, *HALVES) if dtype == "f32" else _same_or_f32(dtype)

    def fewest_results(self) -> int:
        return 1

    def infer_result_types(self) -> tuple[TensorType, ...]:
        dtype = self._check_dtype("src", self.src)
        axis, shape = self.resolve_axis(self.src), shape_of(self.src)
        sums = (*shape[:axis], 1, *shape[axis + 1 :])
        kept = element_type_of(self.src) if dtype == "f64" else f32
        return (tensor_type(self.check_chosen(dtype), shape), tensor_type(kept, sums))

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield a remark on rows of -inf along an outer axis, where the library may give NaN."""
        axis = self.resolve_axis(self.src)
        if self.value("mode") == "inf_as_zero" and set(shape_of(self.src)[axis + 1 :]) - {1}:
            yield self.remark(
                f"mode inf_as_zero on axis {axis}, which is not the innermost: a row of -inf alone gives 0, "
                "as the page says; the library gives NaN if an adjacent row has other elements"
            )

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.SPEC.meaning(*operands, axis=self.resolve_axis(self.src), mode=self.value("mode"))


class LogSoftmaxFamilyOp(TableOp, ABC):
    """Log-softmax along an axis."""

    SUMMARY: ClassVar = "The logarithm of a softmax along an axis."
    CONSTRAINTS: ClassVar = "C1 a float dtype; C2 axis from -rank to rank - 1."

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        self.resolve_axis(self.src)
        return (tensor_type(element_type_of(self.src), shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, axis=self.resolve_axis(self.src)),)


class SoftmaxFamilyBackwardOp(TableOp, ABC):
    """Gradient of a softmax or log-softmax from its result."""

    SUMMARY: ClassVar = "The gradient of a softmax by its result, which is the second input."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on both ports; diff_src has it, or f32; C2 equal shapes; C3 axis from -rank to "
        "rank - 1."
    )
    CHOOSES_DTYPE: ClassVar = True

    diff_dst = operand_def(TensorType)
    dst = operand_def(TensorType)
    diff_src = result_def(TensorType)

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return _same_or_f32(dtype)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        ports: list[tuple[str, SSAValue]] = [("diff_dst", self.diff_dst), ("dst", self.dst)]
        self.check_same_dtype(ports)
        dtype = self.check_chosen(self._check_dtype("dst", self.dst))
        common = self._check_equal_shapes(ports)
        self.resolve_axis(self.dst)
        return (tensor_type(dtype, common),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, axis=self.resolve_axis(self.dst)),)


def shares(src: np.ndarray, axis: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the softmax and the log of the sums; rows of -inf give NaN, or 0 with inf_as_zero."""
    largest = src.max(axis, keepdims=True, initial=-np.inf)
    terms = np.exp(src - largest)
    total = terms.sum(axis, keepdims=True)
    dst, stats = terms / total, np.log(total) + largest
    if mode == "none":
        return dst, stats
    return np.where(largest == -np.inf, 0, dst), np.where(largest == -np.inf, 0, stats)


def log_shares(src: np.ndarray, axis: int) -> np.ndarray:
    centred = src - src.max(axis, keepdims=True, initial=-np.inf)
    return centred - np.log(np.exp(centred).sum(axis, keepdims=True))


SOFTMAX = (
    OpSpec(
        "SoftMax",
        "exp(src[i]) / s, s the sum of exp(src[j]), j along the axis; stats is log(s); with inf_as_zero both "
        "are 0 where all src[j] are -inf",
        shares,
        {"axis": FIRST, "mode": MODE},
    ),
)
LOG_SOFTMAX = (
    OpSpec("LogSoftmax", "src[i] - log(sum of exp(src[j])), j along the axis", log_shares, {"axis": LAST}),
)
SOFTMAX_BACKWARD = (
    OpSpec(
        "SoftMaxBackward",
        "dst[i] (diff_dst[i] - sum of dst[j] diff_dst[j]), j along the axis",
        lambda g, y, axis: y * (g - (g * y).sum(axis, keepdims=True)),
        {"axis": FIRST},
    ),
    OpSpec(
        "LogSoftmaxBackward",
        "diff_dst[i] - exp(dst[i]) sum of diff_dst[j], j along the axis",
        lambda g, y, axis: g - np.exp(y) * g.sum(axis, keepdims=True),
        {"axis": LAST},
    ),
)
