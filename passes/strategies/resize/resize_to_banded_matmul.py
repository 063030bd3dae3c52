"""resize-to-banded-matmul: the sampling matrix without its zeros. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Bands
from passes.strategies.resize.resize_by_form import ResizeByForm


class ResizeToBandedMatMul(ResizeByForm):
    """A MatMul per block of an axis with that block's part of the matrix."""

    name: ClassVar[str] = "resize-to-banded-matmul"
    form: ClassVar = Bands()
