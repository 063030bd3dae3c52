"""resize-to-plane-conv: a Conv of images of one channel per axis. See `support.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.resize_by_form import ResizeByForm
from passes.support.axis_forms import Convs


class ResizeToPlaneConv(ResizeByForm):
    """One strided Conv per axis where the sampling repeats, an output channel per position of a period."""

    name: ClassVar[str] = "resize-to-plane-conv"
    form: ClassVar = Convs()
