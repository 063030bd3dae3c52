"""Einsum as matrix products where possible: onnxruntime runs MatMul faster, and its Einsum has
the quirk einsum-of-an-empty-batch."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx import ops as onnx
from passes.autodiff.common.slice_adjoint import size_of
from passes.builder.values import Value

Term = str
"""Axis labels of a value, one letter each."""


def product(values: Sequence[Value], terms: Sequence[Term], result: Term) -> Value:
    """Return the Einsum of the values, contracted pairwise: first the pair whose product has the fewest axes.
    All labels of the result are among the terms."""
    if len(values) == 1:
        return _einsum(values, terms, result)
    left = list(zip(values, terms, strict=True))
    while len(left) > 2:
        pairs = [(i, j) for j in range(len(left)) for i in range(j)]
        kept = {pair: _read_later(left, *pair, result) for pair in pairs}
        i, j = min(pairs, key=lambda pair: len(kept[pair]))
        both = kept[i, j]
        left[i] = (_of_two(*left[i], *left[j], both), both)
        del left[j]
    return _of_two(*left[0], *left[1], result)


def _read_later(left: Sequence[tuple[Value, Term]], i: int, j: int, result: Term) -> Term:
    """Return the labels of two values that the result or other values have, too."""
    others = [term for k, (_, term) in enumerate(left) if k not in (i, j)]
    read = {*result, *"".join(others)}
    return "".join(x for x in dict.fromkeys(left[i][1] + left[j][1]) if x in read)


def _einsum(values: Sequence[Value], terms: Sequence[Term], result: Term) -> Value:
    e = values[0].e
    op = onnx.EinsumOp([value.value for value in values], equation=f"{','.join(terms)}->{result}")
    return e(e.emit(op))


def _of_two(a: Value, left: Term, b: Value, right: Term, result: Term) -> Value:
    shared = [x for x in left if x in right]
    summed = "".join(x for x in shared if x not in result)
    batch = "".join(x for x in result if x in left and x in right)
    rows = "".join(x for x in result if x not in right)
    columns = "".join(x for x in result if x not in left)
    plain = len({*left}) == len(left) and len({*right}) == len(right)
    alone = any(x not in result + right for x in left) or any(x not in result + left for x in right)
    if not plain or alone or not all(_same_size(a, left, b, right, x) for x in shared):
        return _einsum([a, b], [left, right], result)
    if not summed:
        return _spread(a, left, result) * _spread(b, right, result)
    if not rows and not columns:
        both = _transpose_to(a, left, batch + summed) * _transpose_to(b, right, batch + summed)
        return both.sum_axes(range(len(batch), both.rank))
    if batch and max(map(len, (rows, columns, summed))) > 1:
        return _einsum([a, b], [left, right], result)
    a, b = _transpose_to(a, left, batch + rows + summed), _transpose_to(b, right, batch + summed + columns)
    if batch:
        return _transpose_to(_batched_matmul(a, rows, b, columns), batch + rows + columns, result)
    if len(summed) == len(columns) == 1 and rows:
        return _transpose_to(a.apply(onnx.MatMulOp, b), rows + columns, result)
    return _transpose_to(_flat(a, len(rows), b, len(summed)), rows + columns, result)


def _same_size(a: Value, left: Term, b: Value, right: Term, label: str) -> bool:
    """Return whether both sizes are known to be equal; otherwise one may be 1 and broadcast."""
    first, second = a.shape[left.index(label)], b.shape[right.index(label)]
    return first is not None and first == second


def _transpose_to(x: Value, term: Term, wanted: Term) -> Value:
    perm = [term.index(label) for label in wanted]
    return x if perm == sorted(perm) else x.transpose(perm)


def _spread(x: Value, term: Term, result: Term) -> Value:
    """Transpose and unsqueeze to the axes of the result; missing ones get size 1."""
    x = _transpose_to(x, term, "".join(label for label in result if label in term))
    missing = [axis for axis, label in enumerate(result) if label not in term]
    return x.unsqueeze(missing) if missing else x


def _batched_matmul(a: Value, rows: Term, b: Value, columns: Term) -> Value:
    """Multiply two stacks of matrices, one of which may be a stack of vectors."""
    gone = [axis for axis, labels in ((-2, rows), (-1, columns)) if not labels]
    a = a if rows else a.unsqueeze([-2])
    b = b if columns else b.unsqueeze([-1])
    found = a.apply(onnx.MatMulOp, b)
    return found.squeeze(gone) if gone else found


def _flat(a: Value, rows: int, b: Value, summed: int) -> Value:
    """Multiply two matrices whose rows and columns are flattened axes."""
    sizes = [size_of(x, axis) for x, axes in ((a, range(rows)), (b, range(summed, b.rank))) for axis in axes]
    flat = a.apply(onnx.FlattenOp, axis=rows).apply(onnx.MatMulOp, b.apply(onnx.FlattenOp, axis=summed))
    e = a.e
    parts = [e.ints([size]) if isinstance(size, int) else size for size in sizes]
    shape = e.concat(parts, 0) if parts else e.ints([])
    return flat.apply(onnx.ReshapeOp, shape, allowzero=1).assume_shape([*a.shape[:rows], *b.shape[summed:]])
