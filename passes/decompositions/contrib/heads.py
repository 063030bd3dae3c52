"""Shared parts of com.microsoft's attention ops: heads and packed tensors."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx import ops as onnx
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Value

LOWEST = -3.4028234663852886e38


def split_last_axis(x: Value, widths: Sequence[int]) -> list[Value]:
    """Split the last axis."""
    split = onnx.SplitOp(x.value, x.e.ints(widths).value, axis=x.rank - 1, results=len(widths))
    return list(map(x.e, x.e.emit.all(split)))


def by_heads(x: Value, heads: int) -> Value:
    """Reshape (B, length, heads * size) to (B, heads, length, size)."""
    width = size_of(x, 2)
    size = width // heads if isinstance(width, int) else width.apply(onnx.DivOp, x.e.ints([heads]))
    split = x.apply(onnx.ReshapeOp, vector(x, [size_of(x, 0), size_of(x, 1), heads, size]), allowzero=1)
    return split.transpose([0, 2, 1, 3])


def inverse_sqrt_size(q: Value) -> Value | float:
    """Return 1 / sqrt(head size)."""
    size = size_of(q, 3)
    return size**-0.5 if isinstance(size, int) else 1 / size.cast(q.dtype).sqrt()
