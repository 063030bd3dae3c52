"""resize-to-gathered-sum: rows gathered by a table, weighted and summed. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Tables
from passes.strategies.resize.resize_by_form import ResizeByForm


class ResizeToGatheredSum(ResizeByForm):
    """Gather, Mul and ReduceSum for any sampling."""

    name: ClassVar[str] = "resize-to-gathered-sum"
    form: ClassVar = Tables()
    strict_only: ClassVar = True
