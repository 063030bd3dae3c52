"""Batch normalisation: normalise each channel to mean 0 and variance 1 over all samples."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def, var_operand_def

from dialects.onednn.base import DATA_FORMAT
from dialects.onednn.norm import NormalizationOp, channel_axis
from dialects.onednn.op_spec import OpSpec
from dialects.support.attributes import FLOAT
from dialects.support.diagnostics import Diagnostic
from dialects.support.shapes import NamedShape, Shape, element_type_of, tensor_type


class BatchNormalizationOp(NormalizationOp, ABC):
    """Base of inference, training and gradient: parameters with one element per channel."""

    COMMON_ATTRIBUTES: ClassVar = {"epsilon": FLOAT, "data_format": DATA_FORMAT}

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return shape if port in cls.DATA else shape[-1:]

    def channel_axis(self) -> int:
        return channel_axis(self, self.data)

    def check_per_channel(self) -> Shape:
        """Check that the parameters are vectors of the channels; return the shape of the data."""
        shape = self.check_data()
        channels = (shape[self.channel_axis()],)
        for port, value in self.parameters():
            self.check_parameter(port, value, channels, f"data_format is {self.value('data_format')}")
        return shape

    def arguments(self) -> dict[str, Any]:
        return {"axis": self.channel_axis(), "epsilon": self.value("epsilon")}


class InferenceOp(BatchNormalizationOp, ABC):
    """Batch normalisation by given statistics."""

    SUMMARY: ClassVar = "Normalises channels to mean 0 and variance 1 by given statistics."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; the other inputs have one, that of src or f32; C2 each of them has an element per "
        "channel."
    )

    src = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.parameters_dtype()
        return (tensor_type(element_type_of(self.src), self.check_per_channel()),)


class TrainingOp(BatchNormalizationOp, ABC):
    """Batch normalisation by the statistics of the batch, which update the running ones."""

    SUMMARY: ClassVar = "Normalises channels to mean 0 and variance 1 by the statistics of the batch."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; the other inputs and the statistics have one dtype, that of src or f32; C2 each "
        "of them has an element per channel; beta requires gamma."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        **BatchNormalizationOp.COMMON_ATTRIBUTES,
        "momentum": FLOAT.with_default(0.5),
    }
    PORTS: ClassVar = ("src", "mean", "variance", "gamma", "beta")

    src = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma and beta, gamma, or neither."""
    dst = result_def(TensorType)
    running_mean = result_def(TensorType)
    running_variance = result_def(TensorType)
    batch_mean = result_def(TensorType)
    batch_variance = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape = self.check_per_channel()
        statistics = tensor_type(self.parameters_dtype(), (shape[self.channel_axis()],))
        return (tensor_type(element_type_of(self.src), shape), *[statistics] * 4)

    def arguments(self) -> dict[str, Any]:
        return {"momentum": self.value("momentum"), **super().arguments()}


class TrainingBackwardOp(BatchNormalizationOp, ABC):
    """Gradients of training, by given statistics of the batch."""

    SUMMARY: ClassVar = "The gradients of batch normalisation in training, for given statistics."
    CONSTRAINTS: ClassVar = (
        "C1 src and diff_dst have one float dtype and one shape; the others have one dtype, that or f32; C2 "
        "each of them has an element per channel."
    )
    DATA: ClassVar = ("src", "diff_dst")
    PORTS: ClassVar = ("src", "diff_dst", "mean", "variance", "gamma")

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    """gamma, or nothing."""
    diff_src = result_def(TensorType)
    diff_gamma = result_def(TensorType)
    diff_beta = result_def(TensorType)

    def fewest_results(self) -> int:
        return 1

    def infer_result_types(self) -> tuple[TensorType, ...]:
        shape = self.check_per_channel()
        affine = tensor_type(self.parameters_dtype(), (shape[self.channel_axis()],))
        return (tensor_type(element_type_of(self.src), shape), affine, affine)

    def remarks(self) -> Iterator[Diagnostic]:
        if self.parameter("gamma") is None:
            yield self.remark(
                "without gamma the library takes mean and variance as constants, and so does gradc: "
                "diff_src is diff_dst / sqrt(variance + epsilon)"
            )


def inference(
    src: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    axis: int,
    epsilon: float,
) -> np.ndarray:
    last = np.moveaxis(src, axis, -1)
    return np.moveaxis((last - mean) / np.sqrt(variance + epsilon) * gamma + beta, -1, axis)


def training(
    src: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    gamma: np.ndarray | float = 1.0,
    beta: np.ndarray | float = 0.0,
    *,
    axis: int,
    epsilon: float,
    momentum: float,
) -> tuple[np.ndarray, ...]:
    """Return the result, the running mean and variance, and those of the batch."""
    last = np.moveaxis(src, axis, -1)
    over = tuple(range(src.ndim - 1))
    batch_mean, batch_variance = last.mean(over), last.var(over)
    dst = (last - batch_mean) / np.sqrt(batch_variance + epsilon) * gamma + beta
    pairs = ((mean, batch_mean), (variance, batch_variance))
    running = [momentum * old + (1 - momentum) * new for old, new in pairs]
    return np.moveaxis(dst, -1, axis), *running, batch_mean, batch_variance


def gradients(
    src: np.ndarray,
    diff_dst: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    gamma: np.ndarray | None = None,
    *,
    axis: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of src, gamma and beta. Mean and variance depend on src, but without gamma the
    library treats them as constants."""
    last, cotangent = np.moveaxis(src, axis, -1), np.moveaxis(diff_dst, axis, -1)
    over = tuple(range(src.ndim - 1))
    deviation = np.sqrt(variance + epsilon)
    normal = (last - mean) / deviation
    rest = cotangent
    if gamma is not None:
        rest = (cotangent - cotangent.mean(over) - normal * (cotangent * normal).mean(over)) * gamma
    diff_src = np.moveaxis(rest / deviation, -1, axis)
    return diff_src, (cotangent * normal).sum(over), cotangent.sum(over)


INFERENCE = (
    OpSpec(
        "BatchNormInference", "(src[i] - mean[c]) / sqrt(variance[c] + epsilon) gamma[c] + beta[c]", inference
    ),
)
TRAINING = (
    OpSpec(
        "BatchNormForwardTraining",
        "(src[i] - m[c]) / sqrt(v[c] + epsilon) gamma[c] + beta[c], with m and v, the batch_mean and "
        "batch_variance, over all elements of channel c; a running one is momentum times the given one plus "
        "(1 - momentum) times that of the batch",
        training,
    ),
)
TRAINING_BACKWARD = (
    OpSpec(
        "BatchNormTrainingBackward",
        "gamma[c] r (diff_dst[i] - mean of diff_dst - n[i] mean of diff_dst n), with r = "
        "1 / sqrt(variance[c] + epsilon) and n = (src - mean[c]) r, without gamma r diff_dst[i]; "
        "diff_gamma is the sum of diff_dst n over channel c, diff_beta that of diff_dst",
        gradients,
    ),
)
