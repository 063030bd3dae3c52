"""Householder reflections: QR factorizations of matrices (..., r, n), with the signs of LAPACK."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call
from passes.lower_aten.elimination import batch_of, column_at, over_columns, row_at
from passes.lower_aten.indices import first_of, iota
from passes.lower_aten.shapes import expand_to, sizes


@dataclass(frozen=True)
class Reflections:
    """`packed` has R and, below the diagonal, the vectors of the reflections without their ones; `scales`
    (..., k) are their factors: H = 1 - scale v v^T."""

    packed: Value
    scales: Value


def _vector(rows: Value, k: Value, column: Value) -> Value:
    """Return the vector of a reflection from its column (..., r, 1)."""
    e = column.e
    return rows.equals(k).where(e.scalar(1, column), (rows > k).where(column, 0))


def triangularize(f: Call, a: Value, count: Form) -> Reflections:
    """Return the reflections of the first `count` columns, at most as many as rows."""
    axis, (rows, columns) = a.rank - 2, sizes(a)[-2:]
    row_numbers, column_numbers = iota(f, rows).unsqueeze([1]), iota(f, columns)
    numbers = iota(f, count)

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given, scales), at = states, e(row_numbers.value)
        column, head = column_at(given, k), row_at(column_at(given, k), k)
        below = (at > k).where(column, 0)
        largest = below.abs().sum_axes([axis], keepdims=1)
        is_done = largest.equals(0)
        unit = is_done.where(e.scalar(1, head), largest.at_least(head.abs()))  # squares do not overflow
        norm = unit * ((below / unit).square().sum_axes([axis], keepdims=1) + (head / unit).square()).sqrt()
        beta = is_done.where(head, (head > 0).where(-norm, norm))
        scale = is_done.where(e.scalar(0, head), (beta - head) / is_done.where(e.scalar(1, beta), beta))
        found = below / is_done.where(e.scalar(1, head), head - beta)
        v = at.equals(k).where(e.scalar(1, column), found)
        reflected = given - scale * v * (v.swap_last_axes() @ given)
        new_column = at.equals(k).where(beta, (at > k).where(found, column))
        later = e(column_numbers.value)
        new = (later > k).where(reflected, later.equals(k).where(new_column, given))
        chosen = e(numbers.value).equals(k).where(scale.squeeze([axis]), scales)
        return [new.assume_shape(given.shape), chosen.assume_shape(scales.shape)]

    start = f.full(0, (*batch_of(a), count), a.dtype)
    return Reflections(*over_columns(f, count, [a, start], step))


def apply_reflections(
    f: Call, found: Reflections, b: Value, count: Form, *, transposed: bool = False
) -> Value:
    """Return Q b, or Q^T b, of matrices b (..., r, m)."""
    axis = b.rank - 2
    row_numbers = iota(f, sizes(found.packed)[-2]).unsqueeze([1])

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given,) = states
        v = _vector(e(row_numbers.value), k, column_at(e(found.packed.value), k))
        scale = column_at(e(found.scales.value).unsqueeze([axis]), k)
        return [(given - scale * v * (v.swap_last_axes() @ given)).assume_shape(given.shape)]

    return over_columns(f, count, [b], step, backward=not transposed)[0]


def first_columns(f: Call, found: Reflections, count: Form, width: Form) -> Value:
    """Return the first `width` columns of Q, the product of `count` reflections."""
    rows = sizes(found.packed)[-2]
    one = iota(f, rows).unsqueeze([1]).equals(iota(f, width)).cast(found.packed.dtype)
    start = expand_to(f, one, (*batch_of(found.packed), rows, width))
    return apply_reflections(f, found, start, count)


def upper(f: Call, packed: Value, rows: Form) -> Value:
    """Return the first rows of R."""
    taken = first_of(f, packed, packed.rank - 2, rows)
    at, columns = iota(f, rows).unsqueeze([1]), iota(f, sizes(packed)[-1])
    return (at <= columns).where(taken, 0).assume_shape(taken.shape)


def diagonal_of(f: Call, a: Value) -> Value:
    """Return the diagonals of matrices (..., r, n), r >= n, as (..., n)."""
    at, columns = (iota(f, size) for size in sizes(a)[-2:])
    return at.unsqueeze([1]).equals(columns).where(a, 0).sum_axes([a.rank - 2])
