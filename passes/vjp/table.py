"""Registry of VJP rules and decompositions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from dialects.onnx import traits
from passes.vjp import control
from passes.vjp.common.forward import Body, Rule
from passes.vjp.control import sequences
from passes.vjp.control.regions import RegionRule
from passes.vjp.rules import (
    attention,
    columns,
    conv,
    determinant,
    index,
    linear,
    linear_attention,
    losses,
    norm,
    pointwise,
    pool,
    quantize,
    ranges,
    recurrent,
    reduce,
    resize,
    sampled_ops,
    sampling,
    shape,
    softmaxes,
    spectra,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **columns.RULES,
        **conv.RULES,
        **determinant.RULES,
        **index.RULES,
        **linear.RULES,
        **losses.RULES,
        **norm.RULES,
        **pointwise.RULES,
        **pool.RULES,
        **ranges.RULES,
        **recurrent.RULES,
        **reduce.RULES,
        **resize.RULES,
        **sampling.RULES,
        **sequences.RULES,
        **shape.RULES,
        **softmaxes.RULES,
        **spectra.RULES,
    }
)
"""ONNX op -> its rule."""

BODIES: Mapping[str, Body] = MappingProxyType(
    {
        **attention.BODIES,
        **linear_attention.BODIES,
        **quantize.BODIES,
        **sampled_ops.BODIES,
        **sampling.BODIES,
        **spectra.BODIES,
    }
)
"""ONNX op without a rule -> its decomposition, which the walk differentiates."""

REGION_RULES: Mapping[str, RegionRule] = control.RULES
"""ONNX op with regions -> its rule."""

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {**conv.GRADIENT_RULES, **pool.GRADIENT_RULES, **resize.GRADIENT_RULES}
)
"""Canonical gradient emitted by rules -> its rule."""

_REPEATED: Mapping[str, Collection[int]] = MappingProxyType(
    {
        "Clip": (1, 2),
        "Gemm": (2,),
        "LayerNormalization": (1, 2),
        "PRelu": (1,),
        "RMSNormalization": (1,),
    }
)
_ALL_REPEATED = traits.BROADCASTING - {"PRelu"} | frozenset(("Einsum", "Expand", "MatMul"))


def is_repeated(name: str, index: int) -> bool:
    """Return whether an operand may be broadcast, so that its gradient must be summed."""
    return name in _ALL_REPEATED or index in _REPEATED.get(name, ())
