"""Rows of a table by index, and the gradient of the table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.autodiff.common.gather_adjoint import scatter_back
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule


def embedding(f: Call, e: Builder) -> Value:
    return f.weight.apply(onnx.GatherOp, f.indices, axis=0)


def by_frequency(g: Value, indices: Value, size: int | Value) -> Value:
    """Return the rows of indices, each divided by the number of times that its index occurs."""
    ones = g.e.fill_like(1, indices.cast(g.dtype))
    counts = scatter_back(ones, indices, 0, size).apply(onnx.GatherOp, indices, axis=0)
    return g / counts.unsqueeze([counts.rank])


def embedding_backward(f: Call, e: Builder) -> Value:
    """The sum of the rows' cotangents for each index but `padding_idx`."""
    g, indices = f.grad_output, f.indices.as_int64()
    rows: Form = f.num_weights
    size = rows if isinstance(rows, int) else f.vector([rows])
    if f.scale_grad_by_freq:
        g = by_frequency(g, indices, size)
    if not isinstance(f.padding_idx, int) or f.padding_idx >= 0:
        is_padding = indices.equals(f.operand(f.padding_idx, indices.dtype)).unsqueeze([indices.rank])
        g = is_padding.where(e.scalar(0, g), g)
    return scatter_back(g, indices, 0, size)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "embedding.default": embedding,
        "embedding_dense_backward.default": embedding_backward,
    }
)
