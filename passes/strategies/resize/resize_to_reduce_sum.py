"""resize-to-reduce-sum: sums for nearest enlargement by a whole factor. See `resize.axis_forms`."""

from __future__ import annotations

from typing import ClassVar

from passes.resize.axis_forms import Sums
from passes.strategies.resize.resize_by_form import ResizeByForm


class ResizeToReduceSum(ResizeByForm):
    """ReduceSum, or Gathers and Adds, for nearest enlargement by a whole factor."""

    name: ClassVar[str] = "resize-to-reduce-sum"
    form: ClassVar = Sums()
