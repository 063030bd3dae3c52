"""resize-to-reduce-sum: sums, where nearest enlarged by a whole factor. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Sums
from passes.strategies.resize_by_form import ResizeByForm


class ResizeToReduceSum(ResizeByForm):
    """ReduceSum, or Gathers added, where nearest enlarged by a whole factor."""

    name: ClassVar[str] = "resize-to-reduce-sum"
    form: ClassVar = Sums()
