"""Decompositions of DFT and CumProd for older opsets."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from dialects.onnx.call import axis_of
from dialects.onnx.values import constant_of
from dialects.support.dtypes import FLOATS, HALVES, of_mlir
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results

MOST_ELEMENTS = 2**22
"""Limit on the elements of the matrix of a transform, as of 1,024 complex numbers."""


def dft(f: Primal, e: Builder) -> Results | None:
    """Before opset 20: the product with a matrix, a constant one for a static length.

    The last axis has the real and imaginary part of each number, so that rows and columns of the matrix are
    pairs. Half types are computed in f32.
    """
    x, dtype, axis = f.x, of_mlir(f.x.dtype), _axis(f, 2, -2)
    matrix = None if axis is None else _matrix_of(f, axis)
    if axis is None or dtype is None or dtype.name not in FLOATS:
        return None
    wide = x.cast(f32) if dtype.name in HALVES else x
    if matrix is None:
        found = _by_computed_matrix(f, wide, axis)
        return None if found is None else [found.cast(x.dtype)]
    perm = [*(i for i in range(x.rank - 1) if i != axis), axis, x.rank - 1]
    given, parts, *results = matrix.shape
    flat = matrix.reshape(given * parts, -1)
    rows = _reshape_last(wide.transpose(perm), 2, [given * parts])
    found = _reshape_last(rows @ e.constant(flat, wide), 1, results)
    return [found.transpose([perm.index(i) for i in range(x.rank)]).cast(x.dtype)]


def _by_computed_matrix(f: Primal, x: Value, axis: int) -> Value | None:
    """Return the transform of all points of an axis of a dynamic size by the matrix of its size; None for
    others."""
    inverse, onesided = bool(f.value("inverse", 0)), bool(f.value("onesided", 0))
    e, parts = f.e, x.shape[-1]
    if f.operand(1) is not None or isinstance(x.shape[axis], int) or parts not in (1, 2):
        return None
    if inverse and onesided:
        return None
    count = e(e.emit.sizes(x.value, [axis]))
    points = iota(count, x)
    bins = iota(count / 2 + e.ints([1]), x) if onesided else points
    steps = (points.unsqueeze([1]) * bins).apply(onnx.ModOp, count)
    size = count.cast(x.dtype)
    angles = steps.cast(x.dtype) * (2 * np.pi) / size
    cosines, sines = angles.apply(onnx.CosOp), angles.apply(onnx.SinOp)
    sines = sines if inverse else -sines
    order = [i for i in range(x.rank - 1) if i != axis]
    rows = x.transpose([x.rank - 1, *order, axis])
    real, imaginary = rows[0] @ cosines, rows[0] @ sines
    if parts == 2:
        real, imaginary = real - rows[1] @ sines, imaginary + rows[1] @ cosines
    if inverse:
        real, imaginary = real / size, imaginary / size
    both = e.concat([part.unsqueeze([len(order) + 1]) for part in (real, imaginary)], len(order) + 1)
    at = [*order, axis]
    return both.transpose([*(at.index(i) for i in range(x.rank - 1)), x.rank - 1])


def _matrix_of(f: Primal, axis: int) -> np.ndarray | None:
    """Return the matrix (number, its part, bin, its part) of a transform, or None if it has no static length
    or is too large."""
    given, parts = f.x.shape[axis], f.x.shape[-1]
    inverse, onesided = bool(f.value("inverse", 0)), bool(f.value("onesided", 0))
    if not isinstance(given, int) or not given or parts not in (1, 2):
        return None
    length = _length(f, 2 * (given - 1) if inverse and onesided else given)
    if length is None or length < 1 or 4 * given * length > MOST_ELEMENTS:
        return None
    if inverse and onesided:
        return _real_matrix(given, length)[:, :parts]
    found = _matrix(given, length, inverse)[:, :parts]
    return found[:, :, : length // 2 + 1] if onesided else found


def _length(f: Primal, default: int) -> int | None:
    """Return the static length of a transform, or None."""
    given = f.operand(1)
    known = np.array(default) if given is None else constant_of(given.value)
    return None if known is None else int(known.reshape(()))


def _axis(f: Primal, index: int, default: int) -> int | None:
    """Return the axis that a constant operand names, counted from the front, or None."""
    given = f.operand(index)
    known = np.array(default) if given is None else constant_of(given.value)
    return None if known is None else axis_of(int(known.reshape(())), f.x.rank)


def _matrix(given: int, length: int, inverse: bool) -> np.ndarray:
    """Return the matrix of a transform of numbers that are cropped or padded with zeros to a length."""
    steps = np.outer(np.arange(given), np.arange(length)) % length
    angles = 2 * np.pi * steps / length * (1 if inverse else -1)
    real, imaginary = np.cos(angles), np.sin(angles)
    found = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)], 1)
    found[length:] = 0
    return found / length if inverse else found


def _real_matrix(given: int, length: int) -> np.ndarray:
    """Return the matrix of the inverse of half a spectrum: all bins but the first, and the last of an even
    number, count twice."""
    weights = np.full(given, 2)
    weights[0] = 1
    weights[length // 2 + 1 :] = 0
    if length % 2 == 0 and length // 2 < given:
        weights[length // 2] = 1
    return _matrix(given, length, inverse=True)[..., :1] * weights[:, None, None, None]


def _reshape_last(x: Value, count: int, sizes: list[int]) -> Value:
    """Reshape the last `count` axes to other sizes."""
    kept = list(range(x.rank - count))
    e = x.e
    shape = e.emit.concat([e.emit.sizes(x.value, kept), e.emit.ints(sizes)]) if kept else e.emit.ints(sizes)
    return x.apply(onnx.ReshapeOp, e(shape))


def cum_prod(f: Primal, e: Builder) -> Results | None:
    """Before opset 26: a Scan along the axis."""
    x, axis, dtype = f.x, _axis(f, 1, 0), of_mlir(f.x.dtype)
    if axis is None or dtype is None:
        return None
    exclusive, reverse = bool(f.value("exclusive", 0)), bool(f.value("reverse", 0))
    perm = [axis, *(i for i in range(x.rank) if i != axis)]
    first = x.transpose(perm)
    sizes = e(e.emit.sizes(first.value, range(1, x.rank))) if x.rank > 1 else e.ints([])
    start = sizes.apply(onnx.ConstantOfShapeOp, value=np.ones(1, dtype.numpy))

    def step(_: Builder, states: Exprs, slices: Exprs) -> tuple[Exprs, Exprs]:
        product = states[0] * slices[0]
        return [product], [states[0] if exclusive else product]

    _, (found,) = scan(e, [start.assume_shape(first.shape[1:])], [first], step, backward=reverse)
    return [found.transpose([perm.index(i) for i in range(x.rank)])]
