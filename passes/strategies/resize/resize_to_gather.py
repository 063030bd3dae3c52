"""resize-to-gather: rows gathered tap by tap, weighted and added. See `resize.axis_forms`.

If every position reads one (the forward resize shrinks by whole factors or more), all axes are gathered at
once, as one axis with the products of their weights.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape, size_of
from passes.cost.work import Work
from passes.resize.axis_forms import Gathers
from passes.resize.axis_forms.gathers import gather_taps, most_taps, tables
from passes.strategies.resize.resize_by_form import ResizeByForm
from passes.targets.target import Target


class ResizeToGather(ResizeByForm):
    """Gather per tap, weighted and added."""

    name: ClassVar[str] = "resize-to-gather"
    form: ClassVar = Gathers()

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        """Count also an index and a weight per position, if the axes may be gathered at once."""
        apart = super().compile_time_cost(op)
        shrinks = all(sampling.x >= sampling.y for sampling in op.samplings)
        return apart + CompileTimeCost(2 * math.prod(s.x for s in op.samplings), 4) if shrinks else apart

    def works(self, op: ResizeBackwardOp, target: Target, work: Work) -> None:
        if not _reads_one(op):
            super().works(op, target, work)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        return _at_once(op, emit) if _reads_one(op) else super().emit(op, target, emit)


def _reads_one(op: ResizeBackwardOp) -> bool:
    """Return whether the axes are adjacent and every position reads one."""
    axes = sorted(op.axes)
    follow = axes == list(range(axes[0], axes[0] + len(axes)))
    return follow and all(s.x >= s.y and most_taps(s) == 1 for s in op.samplings)


def _at_once(op: ResizeBackwardOp, emit: OpBuilder) -> SSAValue:
    value, axes = op.diff_dst, sorted(op.axes)
    sizes = [size_of(emit, value, axis) for axis in range(len(shape_of(value)))]
    outer, behind = sizes[: axes[0]], sizes[axes[-1] + 1 :]
    given = dict(zip(op.axes, op.samplings, strict=True))
    samplings = [given[axis] for axis in axes]
    place, weight = np.zeros((), np.int64), np.ones(())
    for sampling in samplings:
        positions, weights = tables(sampling)
        place = np.add.outer(place * sampling.y, positions[0])
        weight = np.multiply.outer(weight, weights[0])
    rows = reshape(emit, value, [*outer, math.prod(s.y for s in samplings), *behind])
    return gather_taps(emit, rows, len(outer), place[None], weight[None])
