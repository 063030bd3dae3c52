"""Registry of VJP rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from dialects.onnx import traits
from passes.autodiff import control_flow
from passes.autodiff.common.primal import Rule
from passes.autodiff.control_flow import sequences
from passes.autodiff.control_flow.regions import RegionRule
from passes.autodiff.rules import (
    col2im,
    conv,
    determinant,
    fft,
    index,
    linear,
    losses,
    lrn_lp_mvn,
    norm,
    pointwise,
    pool,
    recurrent,
    reduce,
    resize,
    sampling,
    shape,
    softmaxes,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **col2im.RULES,
        **conv.RULES,
        **determinant.RULES,
        **index.RULES,
        **linear.RULES,
        **losses.RULES,
        **norm.RULES,
        **pointwise.RULES,
        **pool.RULES,
        **lrn_lp_mvn.RULES,
        **recurrent.RULES,
        **reduce.RULES,
        **resize.RULES,
        **sampling.RULES,
        **sequences.RULES,
        **shape.RULES,
        **softmaxes.RULES,
        **fft.RULES,
    }
)
"""ONNX op -> its rule."""

REGION_RULES: Mapping[str, RegionRule] = control_flow.RULES
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
