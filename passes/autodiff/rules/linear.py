"""VJP rules of matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.infer.nn import einsum_terms
from dialects.support.shapes import Shape
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, refusal
from passes.autodiff.common.products import product
from passes.autodiff.common.slice_adjoint import size_of
from passes.builder.values import Builder, Value


def matmul(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of MatMul: g B^T and A^T g; a vector is a matrix of one row or column."""
    a, b = f.operands[0], f.operands[1]
    assert a is not None
    assert b is not None
    rows = a if a.rank > 1 else a.unsqueeze([0])
    columns = b if b.rank > 1 else b.unsqueeze([1])
    cotangent = g[0] if b.rank > 1 else g[0].unsqueeze([g[0].rank])
    cotangent = cotangent if a.rank > 1 else cotangent.unsqueeze([cotangent.rank - 1])
    first: Gradient = ZERO
    second: Gradient = ZERO
    if f.wants(0):
        found = _times(cotangent, columns.swap_last_axes())
        found = found.assume_shape((*found.shape[:-2], *rows.shape[-2:]))
        first = found if a.rank > 1 else found.squeeze([found.rank - 2])
    if f.wants(1):
        found = _of_right(rows, cotangent, columns)
        found = found.assume_shape((*found.shape[:-2], *columns.shape[-2:]))
        second = found if b.rank > 1 else found.squeeze([found.rank - 1])
    return (first, second)


def _of_right(rows: Value, cotangent: Value, columns: Value) -> Value:
    """Return A^T g; for an unbatched right operand, as one product of all rows of the batch."""
    if columns.rank == 2 and rows.rank > 2:
        flat, g = (x.apply(onnx.FlattenOp, axis=x.rank - 1) for x in (rows, cotangent))
        return flat.apply(onnx.GemmOp, g, transA=1)
    return _times(rows.swap_last_axes(), cotangent)


def _times(a: Value, b: Value) -> Value:
    return a.apply(onnx.MatMulOp, b)


def gemm(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Gemm: products with other flags, without a Transpose."""
    a, b = f.operands[0], f.operands[1]
    assert a is not None
    assert b is not None
    alpha, beta = f.value("alpha", 1.0), f.value("beta", 1.0)
    trans_a, trans_b = f.value("transA", 0), f.value("transB", 0)

    def product(x: Value, y: Value, flip_x: int, flip_y: int) -> Value:
        return x.apply(onnx.GemmOp, y, alpha=alpha, transA=int(flip_x), transB=int(flip_y))

    first: Gradient = ZERO
    second: Gradient = ZERO
    if f.wants(0):
        first = product(b, g[0], trans_b, 1) if trans_a else product(g[0], b, 0, not trans_b)
    if f.wants(1):
        second = product(g[0], a, 1, trans_a) if trans_b else product(a, g[0], not trans_a, 0)
    return (first, second, (g[0] * beta if beta != 1 else g[0]) if f.wants(2) else ZERO)


def einsum(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Einsum: for each operand, the Einsum of the cotangent and the other operands."""
    operands = [operand for operand in f.operands if operand is not None]
    equation = f.value("equation")
    terms, result = einsum_terms(equation, [operand.rank for operand in operands])
    if len(set(result)) < len(result):
        raise refusal("equation", given=equation, expected="no label twice in the result")
    letters = _letters([*terms, result])
    return [
        _of_operand(i, operands, terms, result, g[0], letters) if f.wants(i) else ZERO
        for i in range(len(operands))
    ]


def _letters(terms: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return a letter for each label; labels of an ellipsis are numbers."""
    labels = sorted({label for term in terms for label in term})
    free = iter(letter for letter in ascii_letters if letter not in labels)
    return {label: next(free) if label.isdigit() else label for label in labels}


def _of_operand(
    index: int,
    operands: Sequence[Value],
    terms: Sequence[Sequence[str]],
    result: Sequence[str],
    g: Value,
    letters: Mapping[str, str],
) -> Value:
    """Return the gradient of one operand. It is broadcast along labels that no other term has, and masked to
    the diagonal for repeated labels."""
    e, operand, own = g.e, operands[index], terms[index]
    others = [i for i in range(len(operands)) if i != index]
    read = [result, *(terms[i] for i in others)]
    first = [own.index(label) == axis for axis, label in enumerate(own)]
    kept = [axis for axis, label in enumerate(own) if first[axis] and any(label in term for term in read)]
    values = [g, *(operands[i] for i in others)]
    written = ["".join(letters[label] for label in term) for term in read]
    found = product(values, written, "".join(letters[own[axis]] for axis in kept))
    missing = [axis for axis in range(len(own)) if axis not in kept]
    found = found.unsqueeze(missing) if missing else found
    for axis in (axis for axis in missing if not first[axis]):
        found = e.keep(found, _diagonal(operand, own.index(own[axis]), axis))
    return found if _covers(found.shape, operand.shape) else found.apply(onnx.ExpandOp, e.shape(operand))


def _covers(given: Shape, wanted: Shape) -> bool:
    """Return whether all axes whose wanted size is not 1 are known to have that size."""
    return all(y == 1 or (x is not None and x == y) for x, y in zip(given, wanted, strict=True))


def _diagonal(x: Value, first: int, second: int) -> Value:
    """Return the mask of equal indices on two axes; the other axes have size 1."""
    row, column = (iota(size_of(x, axis), x) for axis in (first, second))
    row, column = (
        index.unsqueeze([i for i in range(x.rank) if i != axis])
        for index, axis in ((row, first), (column, second))
    )
    return row.equals(column)


RULES: Mapping[str, Rule] = MappingProxyType({"Einsum": einsum, "Gemm": gemm, "MatMul": matmul})
"""ONNX op -> its rule."""
