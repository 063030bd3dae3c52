"""Ops that move elements: views, permutations, slices, joins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Value, ValueBuilder
from passes.lower_aten.call import Call, Rule


def view(f: Call, e: ValueBuilder) -> Value:
    """A reshape to the sizes of the result, as `size` may contain a -1."""
    return f.self.apply(onnx.ReshapeOp, f.vector(f.shape), allowzero=1)


def expand(f: Call, e: ValueBuilder) -> Value:
    return f.self.apply(onnx.ExpandOp, f.vector(f.shape))


def permute(f: Call, e: ValueBuilder) -> Value:
    return f.self.transpose([axis % f.self.rank for axis in f.dims])


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "view.default": view,
        "expand.default": expand,
        "permute.default": permute,
    }
)
