"""Base class of the lowerings of one resized axis."""

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
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of, static_shape
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.cost.work import Sizes, Work

MATRIX_SPREADS_NONFINITE = "a product with the sampling matrix multiplies positions that are not read by 0"


@dataclass(frozen=True)
class AxisForm(ABC):
    """Lowering of the contraction along one axis. `needs` are the ONNX ops that it creates."""

    needs: ClassVar[tuple[type[OnnxOp], ...]]

    def refuses(self, sampling: AxisSampling) -> str | None:
        """Return why the form does not fit the axis, or None."""
        del sampling
        return None

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        """Do `Strategy.spreads_nonfinite` for a sampling that is not refused."""
        del sampling
        return None

    @abstractmethod
    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        """Return a bound on the cost of checking and lowering the axis."""

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        """Do `Strategy.works` for an axis of a tensor of these sizes."""
        del work, data, axis, sampling

    @abstractmethod
    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        """Lower the axis from Y positions to X. Only for a sampling that is not refused."""


def axes_to_write(op: ResizeBackwardOp) -> list[tuple[int, AxisSampling]]:
    """Return the axes with their samplings, in order of shrinkage, which leaves least for the others."""
    axes: Sequence[tuple[int, AxisSampling]] = list(zip(op.axes, op.samplings, strict=True))
    return sorted(axes, key=lambda entry: Fraction(entry[1].x, entry[1].y))


def axes_with_sizes(op: ResizeBackwardOp) -> Iterator[tuple[Sizes, int, AxisSampling]]:
    """Yield the axes in lowering order with the static sizes of the tensor at that point."""
    sizes = static_shape(op.diff_dst)
    assert sizes is not None
    for axis, sampling in axes_to_write(op):
        yield sizes, axis, sampling
        sizes = (*sizes[:axis], sampling.x, *sizes[axis + 1 :])


def as_dtype_of(value: SSAValue, matrix: np.ndarray) -> np.ndarray:
    return matrix.astype(known_dtype(element_type_of(value)).numpy)
