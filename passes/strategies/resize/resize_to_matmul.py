"""resize-to-matmul: per axis, a product with the sampling matrix. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Dense
from passes.strategies.resize.resize_by_form import ResizeByForm


class ResizeToMatMul(ResizeByForm):
    """One dense MatMul per axis with a constant matrix."""

    name: ClassVar[str] = "resize-to-matmul"
    form: ClassVar = Dense()
