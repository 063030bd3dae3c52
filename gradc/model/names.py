"""The names of a model: each once, and none that a runtime's optimiser gives without looking."""

from __future__ import annotations

import re
from collections.abc import Sequence

OPTIMISERS = re.compile(
    "(gemm_input_shape|gemm_output_shape|squeeze_axes|SqueezeAxesInitializer|ConstAsInitializer|fused_Split)(_token_[0-9]+)?"
)
"""What onnxruntime's optimiser calls the constants that it adds. It looks whether a node has such a name and
not whether a value has: a model that it wrote itself, into which more of its forms have come since, ends with
"Attempt to replace the existing tensor"."""


class Names:
    """Names given out, each once."""

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
