"""Batching rules of products: rows of one factor become rows of one product; else a batch of products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.support.shapes import tensor_type
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result


def matmul(f: OpCall, b: Batch) -> Sequence[Result] | None:
    x, y = f.present
    if not x.has_rank or not y.has_rank:
        return None
    if x.batched and not y.batched:
        return [_times_unbatched(b, x, y)]
    if not x.batched and _is_column(y) and x.rank == 2:
        return [_columns(b, x, y)]
    if not x.batched and x.rank == 1:
        return _row_times(b, x, y)
    return [_both_batched(b, x, y)]


def _times_unbatched(b: Batch, x: Operand, y: Operand) -> Value:
    """Return x @ y for an unbatched y: one product if y is a vector or a matrix."""
    if y.rank <= 2:
        return x.value.apply(onnx.MatMulOp, y.value)
    if x.rank >= 2:
        return b.align(x, y.rank).apply(onnx.MatMulOp, y.value)
    row = b.align(x, y.rank).apply(onnx.MatMulOp, y.value)
    return row.squeeze([-2])


def _is_column(y: Operand) -> bool:
    return y.rank == 1 or (y.rank == 2 and y.shape[1] == 1)


def _columns(b: Batch, x: Operand, y: Operand) -> Value:
    """Return x @ y for an unbatched matrix x and one column y in each row, as y^T @ x^T."""
    sizes = b.sizes(y.value)
    rows = b.reshape(y.value, sizes[:2])
    found = rows.apply(onnx.MatMulOp, b.transpose(x.value, [1, 0]))
    return found if y.rank == 1 else found.unsqueeze([-1])


def _row_times(b: Batch, x: Operand, y: Operand) -> Sequence[Value]:
    """Return x @ y for an unbatched vector x."""
    if y.rank == 1:
        return [y.value.apply(onnx.MatMulOp, x.value)]
    return [x.value.apply(onnx.MatMulOp, y.value)]


def _both_batched(b: Batch, x: Operand, y: Operand) -> Value:
    """Return a batch of products; vectors become matrices of one row or column."""
    added: list[int] = []
    left, right = x.value, y.value
    if x.rank == 1:
        left, added = left.unsqueeze([-2]), [-2]
    if y.rank == 1:
        right, added = right.unsqueeze([-1]), [*added, -1]
    ranks = max(x.rank, 2), max(y.rank, 2)
    if x.batched:
        left = _lead(b, left, max(ranks) - ranks[0])
    if y.batched:
        right = _lead(b, right, max(ranks) - ranks[1])
    found = left.apply(onnx.MatMulOp, right)
    return found.squeeze(added) if added else found


def _lead(b: Batch, value: Value, missing: int) -> Value:
    return value.unsqueeze(range(1, 1 + missing)) if missing > 0 else value


def gemm(f: OpCall, b: Batch) -> Sequence[Result] | None:
    x, y, z = (*f.operands, None)[:3]
    assert x is not None
    assert y is not None
    if (z is not None and not z.has_rank) or not x.has_rank or not y.has_rank:
        return None
    if f.only_batched(0) and not f.value("transA", 0) and (z is None or _is_row(z)):
        rows, inner = b.sizes(x.value)[1:]
        flat = b.reshape(x.value, [b.product([b.size, rows]), inner])
        return [b.unfold(f.along_others(b, [flat])[0], rows)]
    left, right = (_factor(b, o, f.value(name, 0)) for o, name in ((x, "transA"), (y, "transB")))
    product = matmul(OpCall(f.op, [left, right]), b) if x.batched or y.batched else None
    found = left.value.apply(onnx.MatMulOp, right.value) if product is None else product[0]
    assert isinstance(found, Value)
    found = _scale(found, f.value("alpha", 1.0))
    if z is None:
        return [found]
    return [found + _scale(b.align(z, 2), f.value("beta", 1.0))]


def _is_row(z: Operand) -> bool:
    return z.rank <= 1 or z.shape[0] == 1


def _scale(value: Value, factor: float) -> Value:
    return value if factor == 1 else value * factor


def _factor(b: Batch, x: Operand, transposed: int) -> Operand:
    """Return a factor of a Gemm as one of a MatMul."""
    if not transposed:
        return x
    row = tensor_type(x.value.dtype, x.shape[::-1])
    return Operand(b.transpose(x.value, [0, 2, 1] if x.batched else [1, 0]), x.batched, row)


def einsum(f: OpCall, b: Batch) -> Sequence[Result] | None:
    equation = str(f.value("equation", "")).replace(" ", "")
    inputs, _, output = equation.partition("->")
    terms = inputs.split(",")
    if "->" not in equation:
        letters = inputs.replace(",", "").replace("...", "")
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        output = ("..." if "..." in inputs else "") + "".join(once)
    letter = next((c for c in reversed(ascii_letters) if c not in equation), None)
    if letter is None:
        return None
    marked = [letter + t if x.batched else t for t, x in zip(terms, f.present, strict=True)]
    return f.along(b, equation=f"{','.join(marked)}->{letter}{output}")


RULES: Mapping[str, BatchingRule] = MappingProxyType({"Einsum": einsum, "Gemm": gemm, "MatMul": matmul})
