"""resize-to-gathered-sum: rows gathered by a table, weighted and summed. See `support.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.strategies.resize_by_form import ResizeByForm
from passes.support.axis_forms import Tables


class ResizeToGatheredSum(ResizeByForm):
    """Gather, Mul and ReduceSum for any sampling."""

    name: ClassVar[str] = "resize-to-gathered-sum"
    form: ClassVar = Tables()
    strict_only: ClassVar = True
