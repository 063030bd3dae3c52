"""resize-to-plane-conv: a Conv of images of one channel per axis. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from dialects.grad.resize import ResizeBackwardOp
from dialects.support.shapes import shape_of
from passes.resize.axis_forms import Convs
from passes.strategies.resize.resize_by_form import ResizeByForm
from passes.targets.target import Target


class ResizeToPlaneConv(ResizeByForm):
    """One strided Conv per axis if the sampling repeats, with an output channel per position of a period."""

    name: ClassVar[str] = "resize-to-plane-conv"
    form: ClassVar = Convs()

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if len(shape_of(op.diff_dst)) - 1 not in op.axes:
            return "the last axis is not resized: for channels last, block products are faster"
        return super().refuses(op, target)
