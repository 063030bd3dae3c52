"""resize-to-gather: rows gathered tap by tap, weighted and added. See `support.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.resize_by_form import ResizeByForm
from passes.support.axis_forms import Gathers


class ResizeToGather(ResizeByForm):
    """Gather per tap, weighted and added."""

    name: ClassVar[str] = "resize-to-gather"
    form: ClassVar = Gathers()
