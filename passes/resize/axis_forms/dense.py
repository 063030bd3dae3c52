"""The dense sampling matrix: diff_src = M^T diff_dst with M (Y, X) of `AxisSampling.matrix`.

The last axis is multiplied from the right, any other from the left, with the inner axes as columns.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.base import MATRIX_SPREADS_NONFINITE, AxisForm, as_dtype_of


class Dense(AxisForm):
    needs: ClassVar = (onnx.MatMulOp,)

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        return budget.sampling_cost(sampling) + CompileTimeCost(sampling.y * sampling.x, 1)

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        return MATRIX_SPREADS_NONFINITE

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        work.contract(data, axis, sampling.x)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        return contract(emit, value, axis, emit.constant(as_dtype_of(value, sampling.matrix())))
