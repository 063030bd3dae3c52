"""Registry of the lowerings of ATen ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.lower_aten.call import Rule
from passes.lower_aten.rules import linear, pointwise, reduce, shape

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **linear.RULES,
        **pointwise.RULES,
        **reduce.RULES,
        **shape.RULES,
    }
)
"""ATen op with overload -> its rule."""
