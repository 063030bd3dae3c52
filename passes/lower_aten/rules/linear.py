"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from passes.builder.values import Value, ValueBuilder
from passes.lower_aten.call import Call, Rule


def mm(f: Call, e: ValueBuilder) -> Value:
    return f.self @ f.mat2


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "mm.default": mm,
        "bmm.default": mm,
    }
)
