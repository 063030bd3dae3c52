"""Registry of the lowerings of ATen ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.lower_aten.call import Rule
from passes.lower_aten.rules import (
    activations,
    arithmetic,
    compare,
    conv,
    linear,
    nll_loss,
    pointwise,
    pool,
    reduce,
    shape,
    softmax,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **activations.RULES,
        **arithmetic.RULES,
        **compare.RULES,
        **conv.RULES,
        **linear.RULES,
        **nll_loss.RULES,
        **pointwise.RULES,
        **pool.RULES,
        **reduce.RULES,
        **shape.RULES,
        **softmax.RULES,
    }
)
"""ATen op with overload -> its rule."""
