"""Systems of linear equations: LU and Cholesky factorizations, and solutions by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.elimination import (
    Factors,
    Square,
    cholesky,
    factorize,
    permutation,
    permutation_matrix,
    solve,
    solve_factorized,
    square_of,
    substitute,
)
from passes.lower_aten.shapes import expand_to


def _first_failure(f: Call, is_failure: Value, index: int) -> Value | None:
    """Return the number of the first column, from 1, of failures (..., n); 0 without one."""
    if not f.is_read(index):
        return None
    axis = is_failure.rank - 1
    failures = is_failure.cast(i64)
    before = failures.apply(onnx.CumSumOp, f.e.number(axis, i64)).equals(0).cast(i64)
    number = before.sum_axes([axis]) + 1
    return (failures.sum_axes([axis]) > 0).where(number, 0).cast(f.dtype_of(index))


def numbers(f: Call, factors: Factors, index: int) -> Value:
    """Return the pivots as LAPACK counts them, from 1."""
    return (factors.pivots + 1).cast(f.dtype_of(index))


def _factors(f: Call, lu: Value, pivots: Value) -> Factors:
    return Factors(lu, pivots.as_int64() - 1)


def _with_batch(f: Call, b: Value) -> Value:
    """Return right-hand sides (..., n, m) with the batch shape of the result."""
    return expand_to(f, b, (*f.shape[:-2], *(size for size in b.shape[-2:] if size is not None)))


def inverse(f: Call, e: Builder) -> Sequence[Value | None]:
    square = square_of(f, f.A)
    b = expand_to(f, square.identity(f.A), f.shape)
    found, factors = solve(f, f.A, b)
    return [found, _first_failure(f, square.diagonal(factors.lu).equals(0), 1)]


def lu_factorization(f: Call, e: Builder) -> Sequence[Value | None]:
    _check_pivoting(f)
    factors = factorize(f, f.A)
    is_zero = square_of(f, f.A).diagonal(factors.lu).equals(0)
    return [factors.lu, numbers(f, factors, 1), _first_failure(f, is_zero, 2)]


def _check_pivoting(f: Call) -> None:
    if not f.pivot:
        raise f.refusal("a factorization without pivots", hint="pivot=True")


def lu(f: Call, e: Builder) -> Sequence[Value | None]:
    """P, L and U with A = P L U."""
    _check_pivoting(f)
    return _unpack(f, factorize(f, f.A))


def unpack_lu(f: Call, e: Builder) -> Sequence[Value | None]:
    """P, L and U of factors; what is not wanted is empty."""
    made = _unpack(f, _factors(f, f.LU_data, f.LU_pivots))
    wanted = (f.unpack_pivots, f.unpack_data, f.unpack_data)
    return [
        value if is_wanted else f.full(0, f.shape_of(index), f.dtype_of(index))
        for index, (value, is_wanted) in enumerate(zip(made, wanted, strict=True))
    ]


def _unpack(f: Call, factors: Factors) -> list[Value | None]:
    square = square_of(f, factors.lu)
    order = permutation(f, factors.pivots, square.n)
    swaps = permutation_matrix(f, order, factors.lu).swap_last_axes()
    return [swaps, square.below(factors.lu) + square.identity(factors.lu), square.not_below(factors.lu)]


def lu_solution(f: Call, e: Builder) -> Value:
    """The solution X of A X = B, or of X A = B, from the factors of A or of its transpose."""
    return _solve_by(f, _factors(f, f.LU, f.pivots), _with_batch(f, f.B), left=f.left, transposed=f.adjoint)


def _solve_by(f: Call, factors: Factors, b: Value, *, left: bool, transposed: bool) -> Value:
    if left:
        return solve_factorized(f, factors, b, transposed=transposed)
    found = solve_factorized(f, factors, b.swap_last_axes(), transposed=not transposed)
    return found.swap_last_axes()


def solution(f: Call, e: Builder) -> Sequence[Value | None]:
    """The solution X of A X = B, or of X A = B, and the factors of A."""
    is_vector = f.A.rank - 1 == f.B.rank and (f.B.rank == 1 or f.B.shape == f.A.shape[:-1])
    shape = (*f.shape, 1) if is_vector else f.shape
    b = expand_to(f, f.B.unsqueeze([f.B.rank]) if is_vector else f.B, shape)
    if f.left and f.A.shape[:-2] == shape[:-2]:
        x, factors = solve(f, f.A, b)
    else:
        factors = factorize(f, f.A)
        x = _solve_by(f, factors, b, left=f.left, transposed=False)
    is_zero = square_of(f, f.A).diagonal(factors.lu).equals(0)
    pivots = numbers(f, factors, 2) if f.is_read(2) else None
    return [x.squeeze([x.rank - 1]) if is_vector else x, factors.lu, pivots, _first_failure(f, is_zero, 3)]


def sign_of_swaps(f: Call, factors: Factors, square: Square) -> Value:
    """Return 1 or -1, the determinants of the row swaps."""
    moved = factors.pivots.equals(square.columns).apply(onnx.NotOp).cast(i64)
    count = moved.sum_axes([moved.rank - 1])
    return (1 - count.apply(onnx.ModOp, 2) * 2).cast(f.dtype)


def determinant(f: Call) -> tuple[Value, Factors]:
    """Return the determinant by the factors of the transpose, and those."""
    square = square_of(f, f.A)
    factors = factorize(f, f.A.swap_last_axes())
    diagonal = square.diagonal(factors.lu)
    product = diagonal.apply(onnx.ReduceProdOp, f.e.ints([diagonal.rank - 1]), keepdims=0)
    return product * sign_of_swaps(f, factors, square), factors


def log_determinant(f: Call, e: Builder) -> Sequence[Value | None]:
    """The sign of the determinant and the logarithm of its magnitude, and the factors of the transpose."""
    square = square_of(f, f.A)
    factors = factorize(f, f.A.swap_last_axes())
    diagonal = square.diagonal(factors.lu)
    axes = e.ints([diagonal.rank - 1])
    sign = diagonal.sign().apply(onnx.ReduceProdOp, axes, keepdims=0) * sign_of_swaps(f, factors, square)
    return [
        sign,
        diagonal.abs().log().sum_axes([diagonal.rank - 1]),
        factors.lu,
        numbers(f, factors, 3),
    ]


def cholesky_factor(f: Call, e: Builder) -> Sequence[Value | None]:
    """The factor, NaN if the matrix is not positive definite, and the first column that shows it."""
    found = cholesky(f, f.self.swap_last_axes() if f.upper else f.self)
    is_failure = square_of(f, found).diagonal(found).apply(onnx.IsNaNOp)
    return [found.swap_last_axes() if f.upper else found, _first_failure(f, is_failure, 1)]


def _solve_by_cholesky(f: Call, factor: Value, b: Value) -> Value:
    """Return the solution of L L^T x = b, from L or L^T."""
    lower = factor.swap_last_axes() if f.upper else factor
    half = substitute(f, lower, b, is_upper=False)
    return substitute(f, lower.swap_last_axes(), half, is_upper=True)


def cholesky_solution(f: Call, e: Builder) -> Value:
    return _solve_by_cholesky(f, f.input2, _with_batch(f, f.self))


def cholesky_inverse(f: Call, e: Builder) -> Value:
    b = expand_to(f, square_of(f, f.self).identity(f.self), f.shape)
    return _solve_by_cholesky(f, f.self, b)


def triangular(f: Call, e: Builder) -> Value:
    """The solution X of A X = B, or of X A = B."""
    a, b, upper = f.self, _with_batch(f, f.B), f.upper
    if f.left:
        return substitute(f, a, b, is_upper=upper, has_unit_diagonal=f.unitriangular)
    found = substitute(
        f, a.swap_last_axes(), b.swap_last_axes(), is_upper=not upper, has_unit_diagonal=f.unitriangular
    )
    return found.swap_last_axes()


def triangular_and_matrix(f: Call, e: Builder) -> Sequence[Value | None]:
    """The solution X of A X = B, or of A^T X = B, and A."""
    a, upper = (f.A.swap_last_axes(), not f.upper) if f.transpose else (f.A, f.upper)
    b = _with_batch(f, f.self)
    found = substitute(f, a, b, is_upper=upper, has_unit_diagonal=f.unitriangular)
    return [found, expand_to(f, f.A, f.shape_of(1)) if f.is_read(1) else None]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_linalg_slogdet.default": log_determinant,
        "_linalg_solve_ex.default": solution,
        "cholesky_inverse.default": cholesky_inverse,
        "cholesky_solve.default": cholesky_solution,
        "linalg_cholesky_ex.default": cholesky_factor,
        "linalg_lu.default": lu,
        "linalg_lu_factor_ex.default": lu_factorization,
        "linalg_lu_solve.default": lu_solution,
        "linalg_solve_triangular.default": triangular,
        "lu_unpack.default": unpack_lu,
        "triangular_solve.default": triangular_and_matrix,
    }
)
