"""VJP of Det by cofactors, which exist for singular matrices, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from passes.autodiff.common.gather_adjoint import numpy_of
from passes.autodiff.common.primal import Forward, Gradient, Rule, refusal
from passes.builder.values import Expr, Operators

MOST = 8
"""Largest matrix size n: the minors gather n^4 elements."""


def det(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """VJP of Det: each element's cofactor, its signed minor."""
    x, size = f.x, _size(f.x)
    cotangent = g[0].apply(onnx.UnsqueezeOp, e.ints([x.rank - 2, x.rank - 1]))
    if size == 0:
        return (e.filled(0, x),)
    if size == 1:
        return (cotangent,)
    signs = [[1.0 - (row + column) % 2 * 2 for column in range(size)] for row in range(size)]
    cofactors = _minors(x, size) * e(e.emit.constant(np.array(signs, numpy_of(x))))
    return (cotangent * cofactors,)


def _size(x: Expr) -> int:
    size, same = x.shape[-1], x.shape[-2]
    if not isinstance(size, int) or not isinstance(same, int):
        raise refusal("size of the matrices", given="unknown", expected="a known size")
    if size > MOST:
        raise refusal("size of the matrices", given=size, expected=f"at most {MOST}")
    return size


def _minors(x: Expr, size: int) -> Expr:
    """Return the minor of each element of n x n matrices, n >= 2."""
    e = x.e
    flat = x.apply(onnx.ReshapeOp, e.ints([*[0] * (x.rank - 2), size * size]))
    others = [[other for other in range(size) if other != one] for one in range(size)]
    places = [
        [[[row * size + column for column in columns] for row in rows] for columns in others]
        for rows in others
    ]
    if size == 2:
        return _gathered(flat, np.array(places, np.int64).reshape(2, 2))
    return _gathered(flat, np.array(places, np.int64)).apply(onnx.DetOp)


def _gathered(flat: Expr, places: np.ndarray) -> Expr:
    return flat.apply(onnx.GatherOp, flat.e(flat.e.emit.constant(places)), axis=flat.rank - 1)


RULES: Mapping[str, Rule] = MappingProxyType({"Det": det})
"""ONNX op -> its rule."""
