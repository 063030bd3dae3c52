"""Unique names of a model, without those that onnxruntime's optimiser uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

OPTIMISERS = re.compile(
    "(gemm_input_shape|gemm_output_shape|squeeze_axes|SqueezeAxesInitializer|ConstAsInitializer|fused_Split)(_token_[0-9]+)?"
)
"""Names of constants that onnxruntime's optimiser adds (quirk names-of-the-optimizer); it fails on models
that it wrote before, too, with "Attempt to replace the existing tensor"."""


class Names:
    """Allocator of unique names."""

    def __init__(self, taken: Sequence[str] = ()):
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def unique(self, wish: str) -> str:
        name = wish
        while name in self._taken or OPTIMISERS.fullmatch(name):
            self._counts[wish] = self._counts.get(wish, 0) + 1
            name = f"{wish}_{self._counts[wish]}"
        self._taken.add(name)
        return name
