"""VJP of Det by cofactors, which exist for singular matrices, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from passes.autodiff.common.gather_adjoint import numpy_of
from passes.autodiff.common.primal import Gradient, Primal, Rule, refusal
from passes.builder.values import Builder, Value

MOST = 8
"""Largest matrix size n: the minors gather n^4 elements."""


def det(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Det: each element's cofactor, its signed minor."""
    x, size = f.x, _size(f.x)
    cotangent = g[0].unsqueeze([x.rank - 2, x.rank - 1])
    if size == 0:
        return (e.fill_like(0, x),)
    if size == 1:
        return (cotangent,)
    signs = [[1.0 - (row + column) % 2 * 2 for column in range(size)] for row in range(size)]
    cofactors = _minors(x, size) * e(e.emit.constant(np.array(signs, numpy_of(x))))
    return (cotangent * cofactors,)


def _size(x: Value) -> int:
    size, same = x.shape[-1], x.shape[-2]
    if not isinstance(size, int) or not isinstance(same, int):
        raise refusal("size of the matrices", given="unknown", expected="a known size")
    if size > MOST:
        raise refusal("size of the matrices", given=size, expected=f"at most {MOST}")
    return size


def _minors(x: Value, size: int) -> Value:
    """Return the minor of each element of n x n matrices, n >= 2."""
    e = x.e
    flat = x.apply(onnx.ReshapeOp, e.ints([*[0] * (x.rank - 2), size * size]))
    others = [[other for other in range(size) if other != one] for one in range(size)]
    places = [
        [[[row * size + column for column in columns] for row in rows] for columns in others]
        for rows in others
    ]
    if size == 2:
        return _gather_last(flat, np.array(places, np.int64).reshape(2, 2))
    return _gather_last(flat, np.array(places, np.int64)).apply(onnx.DetOp)


def _gather_last(flat: Value, places: np.ndarray) -> Value:
    return flat.apply(onnx.GatherOp, flat.e(flat.e.emit.constant(places)), axis=flat.rank - 1)


RULES: Mapping[str, Rule] = MappingProxyType({"Det": det})
"""ONNX op -> its rule."""
