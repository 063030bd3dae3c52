"""Jacobi rotations: eigenvalues of symmetric matrices, and singular values, of any fixed or dynamic size.

Each step rotates the columns in disjoint pairs, 0 with 1, 2 with 3 and so on; the columns then move by the
tournament of Brent and Luk (1985), after which all pairs have met. Steps are the same for all columns, and
run in a Loop until no pair of a whole round needs a rotation. The error is that of LAPACK: some roundings of
the largest value. Singular values are norms of columns that rotations make orthogonal (Hestenes, 1958), so
that small ones are not those of a squared matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import Form
from dialects.shapes.sizes import ceildiv
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import tensor_type
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call
from passes.lower_aten.elimination import Square, batch_of
from passes.lower_aten.indices import first_of, iota
from passes.lower_aten.shapes import expand_to, sizes

MOST_ROUNDS = 30
"""Rounds after which a Loop ends; convergence is quadratic, and 6 to 12 rounds suffice."""

Step: TypeAlias = Callable[["Tournament", Sequence[Value]], "tuple[Sequence[Value], Value]"]
"""(tournament in the Loop, states) -> next states, and which columns a rotation changed: bools."""


def epsilon_of(dtype: Attribute) -> float:
    """Return the distance from 1 to the next number."""
    kind = of_mlir(dtype)
    assert kind is not None
    return float(np.finfo(kind.numpy).eps)


@dataclass(frozen=True)
class Tournament:
    """Index vectors of an even number of columns, in a builder."""

    e: Builder
    columns: Value
    partners: Value
    order: Value
    """Position of the column that each moves to after a step."""

    def inside(self, e: Builder) -> Tournament:
        """Return the same in a nested builder."""
        return Tournament(e, *(e(one.value) for one in (self.columns, self.partners, self.order)))

    def swap(self, a: Value, axis: int) -> Value:
        """Return the elements of the partners along an axis."""
        return a.apply(onnx.GatherOp, self.partners, axis=axis)

    def move(self, a: Value, axis: int) -> Value:
        """Move columns to the pairs of the next step."""
        return a.apply(onnx.GatherOp, self.order, axis=axis)

    def rotation(self, own: Value, products: Value) -> tuple[Value, Value]:
        """Return cosines and sines (..., m) of the rotations that make `products` 0.

        `own` are the diagonal elements, and `products` those of a column and its partner, 0 for no rotation.
        Each column becomes cosine * itself - sine * partner.
        """
        rank = own.rank
        safe = products.equals(0).where(self.e.scalar(1, products), products)
        tau = (self.swap(own, rank - 1) - own) / (safe * 2.0)
        parity = 1.0 - (self.columns.apply(onnx.ModOp, 2) * 2).cast(own.dtype)
        sign = tau.equals(0).where(parity, tau.sign())
        size = tau.abs()
        is_large = size > 1e10
        bounded = is_large.where(self.e.scalar(1, size), size)
        root = is_large.where(size, (bounded.square() + 1.0).sqrt())
        tangent = products.equals(0).where(self.e.scalar(0, tau), sign / (size + root))
        cosine = (tangent.square() + 1.0).sqrt().apply(onnx.ReciprocalOp)
        return cosine, tangent * cosine


def tournament_of(f: Call, count: Form) -> Tournament:
    """Return the index vectors of an even number of columns."""
    columns = iota(f, count)
    is_odd = columns.apply(onnx.ModOp, 2)
    is_top = is_odd.equals(0)
    last = f.vector([count - 1]).squeeze([0])
    top = columns.equals(2).where(f.e.scalar(1, columns), (columns - 2).at_least(0))
    before_last = (last - 1).at_least(1)
    bottom = columns.equals(last).where(before_last, columns + 2)
    return Tournament(f.e, columns, columns + 1 - is_odd * 2, is_top.where(top, bottom))


def _run(f: Call, count: Form, states: Sequence[Value], step: Step) -> Sequence[Value]:
    """Repeat a step until a whole round of it changes no column."""
    tournament = tournament_of(f, count)
    types = [*(state.value.type for state in states), tensor_type(i64, ())]
    block = Block(arg_types=[tensor_type(i64, ()), tensor_type(i1, ()), *types])
    inner = Builder(strict_ieee=f.e.strict_ieee)
    steps = f.vector([count - 1]).squeeze([0])
    _, _, *given, idle = map(inner, block.args)
    after, rotated = step(tournament.inside(inner), given)
    after = [new.assume_shape(old.shape) for new, old in zip(after, given, strict=True)]
    is_active = rotated.cast(i64).sum_axes(list(range(rotated.rank))) > 0
    now_idle = is_active.where(inner.number(0, i64), idle + 1)
    outputs = [now_idle < inner(steps.value), *after, now_idle]
    block.add_ops([*inner.emit.ops, YieldOp(*(value.value for value in outputs))])
    initial = [*(state.value for state in states), f.e.number(0, i64).value]
    most = steps * MOST_ROUNDS
    made = onnx.LoopOp(most.value, None, initial, body=Region(block), result_types=types)
    return [f.e(value) for value in f.e.emit.all(made)[:-1]]


def _even(size: Form) -> Form:
    return ceildiv(size, 2) * 2


def _pad(f: Call, a: Value, rows: Form, columns: Form) -> Value:
    """Append zeros to the last two axes."""
    if rows == 0 and columns == 0:
        return a
    pads = f.vector([*[0] * (2 * a.rank - 2), rows, columns])
    shape = sizes(a)
    padded = a.apply(onnx.PadOp, pads, f.e.scalar(0, a))
    return padded.assume_shape((*shape[:-2], shape[-2] + rows, shape[-1] + columns))


def _identity(f: Call, like: Value, size: Form) -> Value:
    index = iota(f, size)
    one = index.unsqueeze([1]).equals(index).cast(like.dtype)
    return expand_to(f, one, (*batch_of(like), size, size))


def _choose(f: Call, a: Value, indices: Value) -> Value:
    """Return the columns of matrices (..., r, m) in an order (..., k)."""
    wanted = indices.unsqueeze([indices.rank - 1])
    rows = expand_to(f, wanted, (*sizes(a)[:-1], sizes(indices)[-1]))
    return a.apply(onnx.GatherElementsOp, rows, axis=a.rank - 1)


def _top(f: Call, keys: Value, count: Form, *, largest: bool) -> tuple[Value, Value]:
    op = onnx.TopKOp(keys.value, f.vector([count]).value, axis=keys.rank - 1, largest=int(largest), sorted=1)
    values, indices = (f.e(value) for value in f.e.emit.all(op))
    shape = (*sizes(keys)[:-1], count)
    return values.assume_shape(shape), indices.assume_shape(shape)


def eigenvalues(f: Call, a: Value, *, with_vectors: bool) -> tuple[Value, Value | None]:
    """Return the ascending eigenvalues (..., n) and the eigenvectors, as columns, of symmetric matrices."""
    rank, n = a.rank, sizes(a)[-1]
    count = _even(n)
    total = a.abs().sum_axes([rank - 2, rank - 1], keepdims=1)  # at least the largest eigenvalue
    index = iota(f, count)
    square = Square(count, index.unsqueeze([1]), index)
    padded = _pad(f, a, count - n, count - n)
    if count != n:  # the added eigenvalue is the last one
        is_added = (square.rows >= f.vector([n])) & square.rows.equals(index)
        padded = is_added.where(total * 2.0 + 1.0, padded).assume_shape(padded.shape)
    least = (total * (epsilon_of(a.dtype) / 4)).squeeze([rank - 1])
    outer_rows, outer_columns = square.rows, square.columns

    def step(t: Tournament, states: Sequence[Value]) -> tuple[Sequence[Value], Value]:
        given, rows, columns = states[0], t.e(outer_rows.value), t.e(outer_columns.value)
        inner = Square(count, rows, columns)
        is_pair = rows.equals(t.partners)
        half = is_pair.where(given, 0).sum_axes([rank - 2]) * 0.5
        products = half + t.swap(half, rank - 2)
        is_rotated = products.abs() > t.e(least.value)
        products = is_rotated.where(products, 0)
        cosine, sine = t.rotation(inner.diagonal(given), products)
        cosine, sine = cosine.unsqueeze([rank - 2]), sine.unsqueeze([rank - 2])

        def rotate(x: Value) -> Value:
            return x * cosine - t.swap(x, rank - 1) * sine

        both = rotate(rotate(given).swap_last_axes()).swap_last_axes()
        clean = is_pair.where(t.e.scalar(0, both), both)
        moved = t.move(t.move(clean, rank - 1), rank - 2)
        return [moved, *(t.move(rotate(vectors), rank - 1) for vectors in states[1:])], is_rotated

    vectors = [_identity(f, a, count)] if with_vectors else []
    found, *vectors = _run(f, count, [padded, *vectors], step)
    values, order = _top(f, square.diagonal(found), n, largest=False)
    if not vectors:
        return values, None
    return values, _choose(f, first_of(f, vectors[0], rank - 2, n), order)


@dataclass(frozen=True)
class Orthogonal:
    """A V = W of matrices (..., r, n): descending norms of the orthogonal columns of W, W and V."""

    norms: Value
    columns: Value
    v: Value | None


def orthogonalize(f: Call, a: Value, *, with_v: bool) -> Orthogonal:
    """Return the singular values (..., n) and V of matrices, and A V; of r < n rows the last are 0."""
    rank, n = a.rank, sizes(a)[-1]
    count = _even(n)
    total = a.abs().sum_axes([rank - 2, rank - 1], keepdims=1)
    scale = (total > 0).where(total, 1.0)  # squares neither overflow nor vanish
    padded = _pad(f, a / scale, 0, count - n)
    tolerance = epsilon_of(a.dtype)

    def step(t: Tournament, states: Sequence[Value]) -> tuple[Sequence[Value], Value]:
        given = states[0]
        own = given.square().sum_axes([rank - 2])
        half = (given * t.swap(given, rank - 1)).sum_axes([rank - 2]) * 0.5
        products = half + t.swap(half, rank - 2)
        least = own.sqrt() * t.swap(own, rank - 2).sqrt() * tolerance
        is_rotated = products.abs() > least
        cosine, sine = t.rotation(own, is_rotated.where(products, 0))
        cosine, sine = cosine.unsqueeze([rank - 2]), sine.unsqueeze([rank - 2])
        rotated = (x * cosine - t.swap(x, rank - 1) * sine for x in states)
        return [t.move(x, rank - 1) for x in rotated], is_rotated

    vectors = [_identity(f, a, count)] if with_v else []
    found, *vectors = _run(f, count, [padded, *vectors], step)
    norms = found.square().sum_axes([rank - 2]).sqrt()
    keys = norms
    if vectors and count != n:  # the added column is the last one
        outside = _rest(f, vectors[0], n).abs().sum_axes([rank - 2])
        keys = (outside > 0).where(f.e.scalar(-1, norms), norms)
    values, order = _top(f, keys, n, largest=True)
    v = _choose(f, first_of(f, vectors[0], rank - 2, n), order) if vectors else None
    return Orthogonal(values * scale.squeeze([rank - 1]), _choose(f, found, order) * scale, v)


def _rest(f: Call, a: Value, start: Form) -> Value:
    """Return the rows from `start` on."""
    axis = a.rank - 2
    bounds = f.vector([start]), f.e.ints([2**62])
    shape = [*sizes(a)]
    shape[axis] = shape[axis] - start
    return a.apply(onnx.SliceOp, *bounds, f.e.ints([axis])).assume_shape(shape)
