"""Sums and means of very many terms, in stages.

Sequential summation of n numbers is off by up to n roundings of the sum, and a term below half a unit in the
last place of the partial sum is lost (quirk sum-over-first-axes). onnxruntime's f32 sum of 16 million
squares is 0.1 to 3 % too small, depending on the order of axes; the sum of partial sums over 4,096 is right
to 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dialects.onnx import ops as onnx
from passes.builder.tensors import reshape
from passes.builder.values import Value

MOST_TERMS = 2**16
"""Terms of one stage; summed sequentially, the error is about 1e-5 of the sum."""

BLOCK = 2**12
"""Terms per block of a first stage if the count has no divisor near its square root."""


def long_sum(x: Value, axes: Sequence[int], keepdims: int, most: int = MOST_TERMS) -> Value:
    """Sum over static axes, in stages if they have more than `most` terms."""
    if not is_long(x, axes, most):
        return x.apply(onnx.ReduceSumOp, x.e.ints(axes), keepdims=keepdims)
    over = sorted(axis % x.rank for axis in axes)
    for axis in over:
        if _size(x, axis) > MOST_TERMS:
            x = _in_blocks(x, axis)
    for stage in _stages(x, over):
        x = x.apply(onnx.ReduceSumOp, x.e.ints(stage), keepdims=1)
    return x.apply(onnx.ReduceSumOp, x.e.ints(over), keepdims=keepdims)


def long_mean(x: Value, axes: Sequence[int], keepdims: int, most: int = MOST_TERMS) -> Value:
    """Average over static axes, in stages if they have more than `most` terms."""
    if not is_long(x, axes, most):
        return x.apply(onnx.ReduceMeanOp, x.e.ints(axes), keepdims=keepdims)
    return long_sum(x, axes, keepdims, most) / math.prod(_size(x, axis) for axis in axes)


def is_long(x: Value, axes: Sequence[int], most: int) -> bool:
    """Return whether a sum has more than `most` terms; False for dynamic shapes."""
    sizes = [x.shape[axis] for axis in axes]
    return all(isinstance(size, int) for size in x.shape) and math.prod(map(_static_size, sizes)) > most


def _static_size(size: object) -> int:
    return size if isinstance(size, int) else 1


def _size(x: Value, axis: int) -> int:
    return _static_size(x.shape[axis])


def _stages(x: Value, axes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the axes of all stages but the last, from the last axis on, as many as MOST_TERMS allows."""
    stage: list[int] = []
    for axis in reversed(axes):
        if stage and math.prod(_size(x, a) for a in (axis, *stage)) > MOST_TERMS:
            yield stage
            stage = []
        stage.insert(0, axis)


def _in_blocks(x: Value, axis: int) -> Value:
    """Sum an axis in blocks, with a shorter last block if the size has no suitable divisor."""
    size = _size(x, axis)
    block = _block(size)
    whole = size - size % block
    if whole == size:
        return _blocks(x, axis, block)
    place = x.e.ints([axis])
    body = x.apply(onnx.SliceOp, x.e.ints([0]), x.e.ints([whole]), place)
    rest = x.apply(onnx.SliceOp, x.e.ints([whole]), x.e.ints([size]), place)
    parts = [_blocks(body, axis, block), rest.apply(onnx.ReduceSumOp, place, keepdims=1)]
    return x.e.concat(parts, axis)


def _blocks(x: Value, axis: int, block: int) -> Value:
    sizes = [_static_size(size) for size in x.shape]
    sizes[axis : axis + 1] = sizes[axis] // block, block
    return x.e(reshape(x.e.emit, x.value, sizes)).apply(onnx.ReduceSumOp, x.e.ints([axis + 1]), keepdims=0)


def _block(size: int) -> int:
    """Return the least divisor from the square root up to MOST_TERMS, else BLOCK."""
    start = math.isqrt(size - 1) + 1
    return next((n for n in range(start, MOST_TERMS + 1) if size % n == 0), BLOCK)
