"""What a form of one resized axis is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, static_shape
from passes.cost.work import Sizes, Work
from passes.emit.budget import CompileTimeCost
from passes.emit.rewriting import Emitter

MATRIX_MIXES = "a product with the sampling matrix multiplies what a position does not read by 0"


@dataclass(frozen=True)
class AxisForm(ABC):
    """One way to contract one axis. `needs` are the ONNX ops that it writes."""

    needs: ClassVar[tuple[type[OnnxOp], ...]]

    def refuses(self, sampling: AxisSampling) -> str | None:
        """Why the form does not fit the axis, None if it does."""
        del sampling
        return None

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        """As `Strategy.spreads_nonfinite`, of a sampling that is not refused."""
        del sampling
        return None

    @abstractmethod
    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        """A bound on what checking and writing the axis builds at compile time."""

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        """As `Strategy.works`, for an axis of a tensor of these sizes."""
        del work, data, axis, sampling

    @abstractmethod
    def write(self, emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        """Y positions of the axis to X. Only for a sampling that is not refused."""


def axes_to_write(op: ResizeBackwardOp) -> list[tuple[int, AxisSampling]]:
    """The axes with their samplings, the one that shrinks most first: it leaves least for the others."""
    axes: Sequence[tuple[int, AxisSampling]] = list(zip(op.axes, op.samplings, strict=True))
    return sorted(axes, key=lambda entry: Fraction(entry[1].x, entry[1].y))


def axes_with_sizes(op: ResizeBackwardOp) -> Iterator[tuple[Sizes, int, AxisSampling]]:
    """The axes to write with the sizes of what is there when it comes to each; all must be known."""
    sizes = static_shape(op.diff_dst)
    assert sizes is not None
    for axis, sampling in axes_to_write(op):
        yield sizes, axis, sampling
        sizes = (*sizes[:axis], sampling.x, *sizes[axis + 1 :])


def as_dtype_of(value: SSAValue, matrix: np.ndarray) -> np.ndarray:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    return matrix.astype(dtype.numpy)
