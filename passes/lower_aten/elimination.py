"""Factorizations and solutions of systems of linear equations, of batches of square matrices.

Each is a loop over the n columns: unrolled for few, a Scan for more or a dynamic number. Masks select the
rows and columns that a step changes, so that a step is the same at each column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import Form
from dialects.support.shapes import tensor_type
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call
from passes.lower_aten.indices import iota

MOST_UNROLLED = 8
"""Number of columns up to which a loop over them is unrolled."""

Step: TypeAlias = Callable[[Builder, Value, Sequence[Value]], Sequence[Value]]
"""(builder, index of the column, states) -> next states. A step computes with outer values by its own
builder: `e(rows.value)`."""


def over_columns(
    f: Call, n: Form, states: Sequence[Value], step: Step, *, backward: bool = False
) -> Sequence[Value]:
    """Return the states behind all columns."""
    if not isinstance(n, int) or n > MOST_UNROLLED:
        return _loop(f, n, states, step, backward=backward)
    for index in reversed(range(n)) if backward else range(n):
        states = step(f.e, f.e.number(index, i64), states)
    return states


def _loop(f: Call, n: Form, states: Sequence[Value], step: Step, *, backward: bool) -> Sequence[Value]:
    types = [state.value.type for state in states]
    block = Block(arg_types=[tensor_type(i64, ()), tensor_type(i1, ()), *types])
    inner = Builder(strict_ieee=f.e.strict_ieee)
    count = f.vector([n]).squeeze([0])
    index, going, *given = map(inner, block.args)
    after = step(inner, inner(count.value) - 1 - index if backward else index, given)
    outputs = [going.apply(onnx.IdentityOp), *after]
    block.add_ops([*inner.emit.ops, YieldOp(*(value.value for value in outputs))])
    initial = [state.value for state in states]
    made = onnx.LoopOp(count.value, None, initial, body=Region(block), result_types=types)
    return [f.e(value) for value in f.e.emit.all(made)]


@dataclass(frozen=True)
class Square:
    """Indices of the rows, (n, 1), and of the columns, (n), of square matrices."""

    n: Form
    rows: Value
    columns: Value

    def identity(self, like: Value) -> Value:
        """Return the identity matrix with the dtype of `like`."""
        return self.rows.equals(self.columns).cast(like.dtype)

    def diagonal(self, a: Value) -> Value:
        """Return the diagonals (..., n)."""
        return self.rows.equals(self.columns).where(a, 0).sum_axes([a.rank - 1])

    def below(self, a: Value) -> Value:
        """Return the elements below the diagonal, and zeros."""
        return (self.rows > self.columns).where(a, 0)

    def not_below(self, a: Value) -> Value:
        """Return the diagonal and the elements above it, and zeros."""
        return (self.rows <= self.columns).where(a, 0)


def square_of(f: Call, a: Value) -> Square:
    """Return the indices of square matrices. Raises UnsupportedError for others."""
    rows, columns = a.shape[-2:]
    if rows != columns or rows is None:
        raise f.refusal("matrices that are not square", given=f"{rows} rows", expected=f"{columns} rows")
    index = iota(f, rows)
    return Square(rows, index.unsqueeze([1]), index)


def row_at(a: Value, k: Value) -> Value:
    """Return the row k as (..., 1, m)."""
    return a.apply(onnx.GatherOp, k, axis=a.rank - 2).unsqueeze([a.rank - 2])


def column_at(a: Value, k: Value) -> Value:
    """Return the column k as (..., n, 1)."""
    return a.apply(onnx.GatherOp, k, axis=a.rank - 1).unsqueeze([a.rank - 1])


def _columns(f: Call, a: Value, start: Form, end: Form) -> Value:
    bounds = (f.vector([bound]) for bound in (start, end))
    return a.apply(onnx.SliceOp, *bounds, f.e.ints([a.rank - 1])).assume_shape((*a.shape[:-1], end - start))


@dataclass(frozen=True)
class Factors:
    """P A = L U of matrices (..., n, n): `lu` has U and, below the diagonal, L without its ones."""

    lu: Value
    pivots: Value
    """(..., n): row k was swapped with this one, counted from 0."""


def factorize(f: Call, a: Value) -> Factors:
    """Return the LU factorization, each pivot the largest element of its column; the first of equal ones."""
    return _eliminate(f, a, square_of(f, a))


def solve(f: Call, a: Value, b: Value) -> tuple[Value, Factors]:
    """Return the solution x of a x = b, of right-hand sides (..., n, m) of the same batch, and the factors.

    The right-hand sides take part in the elimination as further columns.
    """
    square = square_of(f, a)
    found = _eliminate(f, f.e.concat([a, b], a.rank - 1), square)
    n, width = square.n, b.shape[-1]
    assert width is not None
    lu = _columns(f, found.lu, 0, n)
    x = substitute(f, lu, _columns(f, found.lu, n, n + width), is_upper=True)
    return x, Factors(lu, found.pivots)


def _eliminate(f: Call, a: Value, square: Square) -> Factors:
    """Eliminate the first n columns of n rows."""
    axis, width = a.rank - 2, a.shape[-1]
    assert width is not None
    numbers = iota(f, width)

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given, pivots), rows, columns = states, e(square.rows.value), e(numbers.value)
        size = (rows >= k).where(column_at(given, k).abs(), -1)
        pivot = size.apply(onnx.ArgMaxOp, axis=axis, keepdims=1)
        upper = rows.equals(pivot).where(given, 0).sum_axes([axis], keepdims=1)
        swapped = rows.equals(k).where(upper, rows.equals(pivot).where(row_at(given, k), given))
        diagonal = column_at(upper, k)
        divisor = diagonal.equals(0).where(
            e.scalar(1, given), diagonal
        )  # of a column that is 0, and remains so
        factors = (rows > k).where(column_at(swapped, k) / divisor, 0)
        reduced = swapped - factors * (columns > k).where(upper, 0)
        found = ((rows > k) & columns.equals(k)).where(factors, reduced)
        chosen = e(square.columns.value).equals(k).where(pivot.squeeze([axis]), pivots)
        return [found.assume_shape(given.shape), chosen.assume_shape(pivots.shape)]

    start = f.full(0, (*batch_of(a), square.n), i64)
    return Factors(*over_columns(f, square.n, [a, start], step))


def solve_factorized(f: Call, factors: Factors, b: Value, *, transposed: bool) -> Value:
    """Return the solution x of a x = b, or of a^T x = b, from the factors of a."""
    lu = factors.lu
    order = permutation(f, factors.pivots, square_of(f, lu).n)
    if not transposed:
        lower = substitute(f, lu, permute_rows(f, order, b), is_upper=False, has_unit_diagonal=True)
        return substitute(f, lu, lower, is_upper=True)
    lower = substitute(f, lu.swap_last_axes(), b, is_upper=False)
    upper = substitute(f, lu.swap_last_axes(), lower, is_upper=True, has_unit_diagonal=True)
    return permute_rows(f, order, upper, inverse=True)


def permutation(f: Call, pivots: Value, n: Form) -> Value:
    """Return the rows (..., n) that row swaps, one after the other, bring to each position."""
    index = iota(f, n)
    rank = pivots.rank
    start = index.apply(onnx.ExpandOp, f.e.shape(pivots)) if rank > 1 else index

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given,), numbers, swaps = states, e(index.value), e(pivots.value)
        is_other = numbers.equals(column_at(swaps, k))
        other = is_other.where(given, 0).sum_axes([rank - 1], keepdims=1)
        found = numbers.equals(k).where(other, is_other.where(column_at(given, k), given))
        return [found.assume_shape(given.shape)]

    return over_columns(f, n, [start], step)[0]


def permute_rows(f: Call, rows: Value, b: Value, *, inverse: bool = False) -> Value:
    """Return the rows of `b`, (..., n, m), in an order, or those that give `b` in that order."""
    matrix = permutation_matrix(f, rows, b)
    return (matrix.swap_last_axes() if inverse else matrix) @ b


def permutation_matrix(f: Call, rows: Value, like: Value) -> Value:
    """Return the matrices (..., n, n) of 0 and 1, with the dtype of `like`, that bring rows to an order."""
    n = rows.shape[-1]
    assert n is not None
    return rows.unsqueeze([rows.rank]).equals(iota(f, n)).cast(like.dtype)


def substitute(f: Call, a: Value, b: Value, *, is_upper: bool, has_unit_diagonal: bool = False) -> Value:
    """Return the solution x of a x = b for triangular matrices; the other half of `a` is not read.

    `b` has the batch shape of x, to which that of `a` broadcasts.
    """
    square = square_of(f, a)
    diagonal = None if has_unit_diagonal else square.diagonal(a).unsqueeze([a.rank - 1])

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given,), rows = states, e(square.rows.value)
        found = row_at(given, k)
        found = found if diagonal is None else found / row_at(e(diagonal.value), k)
        factors = (rows < k if is_upper else rows > k).where(column_at(e(a.value), k), 0)
        new = rows.equals(k).where(found, given - factors * found)
        return [new.assume_shape(given.shape)]

    return over_columns(f, square.n, [b], step, backward=is_upper)[0]


def cholesky(f: Call, a: Value) -> Value:
    """Return L with L L^T = a, NaN from the first column on that shows that a is not positive definite.

    Only the lower half of `a` is read.
    """
    square = square_of(f, a)

    def step(e: Builder, k: Value, states: Sequence[Value]) -> Sequence[Value]:
        (given, factor), rows, columns = states, e(square.rows.value), e(square.columns.value)
        column = column_at(given, k)
        found = (rows >= k).where(column / row_at(column, k).sqrt(), 0)
        rest = given - found @ found.swap_last_axes()
        new = columns.equals(k).where(found, factor)
        return [rest.assume_shape(given.shape), new.assume_shape(factor.shape)]

    return over_columns(f, square.n, [a, f.e.fill_like(0, a)], step)[1]


def batch_of(a: Value) -> list[Form]:
    """Return the sizes of the axes before the last two."""
    return [size for size in a.shape[:-2] if size is not None]
