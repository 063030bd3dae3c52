"""Determinants and inverses, of small matrices by their cofactors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.rules import systems

MOST_ROWS = 3
"""Rows of the largest matrix of which cofactors are used."""


def inverse(f: Call, e: Builder) -> Sequence[Value | None]:
    """The inverse, of at most 3 rows by cofactors; and the first column without a pivot."""
    a, rows = f.A, f.A.shape[-1]
    if not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS or f.is_read(1):
        return systems.inverse(f, e)
    if rows == 1:
        return [a.apply(onnx.ReciprocalOp), None]
    cofactors = [[_cofactor(a, i, j) for i in range(rows)] for j in range(rows)]
    lines = [e.concat(line, a.rank - 1) for line in cofactors]
    return [e.concat(lines, a.rank - 2) / _along_first_row(a, [line[0] for line in cofactors]), None]


def _along_first_row(a: Value, cofactors: Sequence[Value]) -> Value:
    """Return the determinants (..., 1, 1) from the cofactors of the first row."""
    found = _element(a, 0, 0) * cofactors[0]
    for column, cofactor in enumerate(cofactors[1:], 1):
        found = found + _element(a, 0, column) * cofactor
    return found


def _element(a: Value, i: int, j: int) -> Value:
    return a[..., i : i + 1, j : j + 1]


def _cofactor(a: Value, i: int, j: int) -> Value:
    """Return the signed minor of an element, (..., 1, 1)."""
    rows = a.shape[-1]
    if rows == 2:
        found = _element(a, 1 - i, 1 - j)
        return -found if (i + j) % 2 else found
    (r, s), (p, q) = ([(at + 1) % 3, (at + 2) % 3] for at in (i, j))  # cyclic order has the sign
    return _element(a, r, p) * _element(a, s, q) - _element(a, r, q) * _element(a, s, p)


def determinant(f: Call, e: Builder) -> Sequence[Value | None]:
    """The determinant, and the factors of the transpose, which torch computes of contiguous matrices."""
    are_factors_read = f.is_read(1) or f.is_read(2)
    rows = f.A.shape[-1]
    if isinstance(rows, int) and 1 <= rows <= MOST_ROWS and not are_factors_read:
        return [_of_few_rows(f.A, rows), None, None]
    found, factors = systems.determinant(f)
    return [found, factors.lu, systems.numbers(f, factors, 2)] if are_factors_read else [found, None, None]


def _of_few_rows(a: Value, rows: int) -> Value:
    found = a if rows == 1 else _along_first_row(a, [_cofactor(a, 0, j) for j in range(rows)])
    return found.squeeze([a.rank - 2, a.rank - 1])


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_linalg_det.default": determinant,
        "linalg_inv_ex.default": inverse,
    }
)
