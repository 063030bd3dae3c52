"""Registry of batching rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.vectorize.batch import BatchingRule
from passes.vectorize.rules import (
    axes,
    conv_weights,
    folded,
    index,
    losses,
    pointwise,
    pools,
    products,
    sequences,
    shape,
)

RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **axes.RULES,
        **conv_weights.RULES,
        **folded.RULES,
        **index.RULES,
        **losses.RULES,
        **pointwise.RULES,
        **pools.RULES,
        **products.RULES,
        **sequences.RULES,
        **shape.RULES,
    }
)
"""ONNX op, or canonical gradient -> its rule. Any other op is computed row by row, in a Scan."""
