"""resize-to-block-matmul: one small matrix for all periods of the sampling. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Blocks
from passes.strategies.resize.resize_by_form import ResizeByForm


class ResizeToBlockMatMul(ResizeByForm):
    """One MatMul on reshaped blocks where the sampling repeats."""

    name: ClassVar[str] = "resize-to-block-matmul"
    form: ClassVar = Blocks()
