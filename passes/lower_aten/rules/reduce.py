"""Reductions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.builder.values import Value, ValueBuilder
from passes.lower_aten.call import Call, Rule


def sum_of(f: Call, e: ValueBuilder) -> Value:
    """The sum over axes, over all if none are given."""
    x = f.self.cast(f.dtype)
    axes = f.dim or list(range(x.rank))
    return x.sum_axes(axes, keepdims=int(f.keepdim)) if x.rank else x


RULES: Mapping[str, Rule] = MappingProxyType({"sum.dim_IntList": sum_of})
