"""resize-to-block-matmul: one small matrix for all periods of the sampling. See `support.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.resize_by_form import ResizeByForm
from passes.support.axis_forms import Blocks


class ResizeToBlockMatMul(ResizeByForm):
    """One MatMul on reshaped blocks where the sampling repeats."""

    name: ClassVar[str] = "resize-to-block-matmul"
    form: ClassVar = Blocks()
