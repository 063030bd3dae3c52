"""Registry of the lowerings of ATen ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.lower_aten.call import Rule
from passes.lower_aten.rules import (
    activations,
    arithmetic,
    batch_norm,
    compare,
    conv,
    creation,
    embedding,
    index,
    linear,
    losses,
    nll_loss,
    norm,
    order,
    pad,
    pointwise,
    pool,
    reduce,
    resize,
    shape,
    slices,
    softmax,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **activations.RULES,
        **arithmetic.RULES,
        **batch_norm.RULES,
        **compare.RULES,
        **conv.RULES,
        **creation.RULES,
        **embedding.RULES,
        **index.RULES,
        **linear.RULES,
        **losses.RULES,
        **nll_loss.RULES,
        **norm.RULES,
        **order.RULES,
        **pad.RULES,
        **pointwise.RULES,
        **pool.RULES,
        **reduce.RULES,
        **resize.RULES,
        **shape.RULES,
        **slices.RULES,
        **softmax.RULES,
    }
)
"""ATen op with overload -> its rule."""
