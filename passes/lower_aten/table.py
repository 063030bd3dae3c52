"""Registry of the lowerings of ATen ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.lower_aten.call import Rule
from passes.lower_aten.complex_numbers.table import COMPLEX_RULES
from passes.lower_aten.rules import (
    activations,
    adaptive_pool,
    arithmetic,
    bags,
    batch_norm,
    columns,
    compare,
    conv,
    creation,
    ctc,
    distance,
    embedding,
    index,
    linear,
    losses,
    matrix,
    nll_loss,
    norm,
    order,
    pad,
    pointwise,
    pool,
    recurrent,
    reduce,
    resize,
    sampler,
    shape,
    slices,
    softmax,
    spectral,
    systems,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **activations.RULES,
        **adaptive_pool.RULES,
        **arithmetic.RULES,
        **bags.RULES,
        **batch_norm.RULES,
        **columns.RULES,
        **compare.RULES,
        **conv.RULES,
        **creation.RULES,
        **ctc.RULES,
        **distance.RULES,
        **embedding.RULES,
        **index.RULES,
        **linear.RULES,
        **losses.RULES,
        **matrix.RULES,
        **nll_loss.RULES,
        **norm.RULES,
        **order.RULES,
        **pad.RULES,
        **pointwise.RULES,
        **pool.RULES,
        **recurrent.RULES,
        **reduce.RULES,
        **resize.RULES,
        **sampler.RULES,
        **shape.RULES,
        **slices.RULES,
        **softmax.RULES,
        **spectral.RULES,
        **systems.RULES,
    }
)
"""ATen op with overload -> its rule for real tensors."""

KNOWN = frozenset(RULES) | frozenset(COMPLEX_RULES)
"""ATen ops with a lowering."""
