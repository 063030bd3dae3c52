"""Eigenvalues, singular values, QR factorizations, pseudo-inverses and exponentials of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial, log
from types import MappingProxyType

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import Form
from dialects.shapes.sizes import largest, smallest
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import tensor_type
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.elimination import square_of
from passes.lower_aten.householder import (
    Reflections,
    apply_reflections,
    diagonal_of,
    first_columns,
    triangularize,
    upper,
)
from passes.lower_aten.jacobi import eigenvalues, epsilon_of, orthogonalize
from passes.lower_aten.shapes import expand_to, sizes


def _symmetric(f: Call, a: Value, *, from_upper: bool) -> Value:
    """Return the symmetric matrices of one triangle of `a`."""
    square = square_of(f, a)
    own = square.rows <= square.columns if from_upper else square.rows >= square.columns
    return own.where(a, a.swap_last_axes()).assume_shape(a.shape)


def symmetric_eigenvalues(f: Call, e: Builder) -> Sequence[Value | None]:
    """The ascending eigenvalues, and the eigenvectors, whose signs are not those of LAPACK."""
    a = _symmetric(f, f.A, from_upper=f.UPLO.upper() == "U")
    values, vectors = eigenvalues(f, a, with_vectors=f.compute_v and f.is_read(1))
    return [values, vectors if f.compute_v else f.full(0, f.shape_of(1), f.dtype_of(1))]


def singular_values(f: Call, e: Builder) -> Sequence[Value | None]:
    """U, the descending singular values, and V^T; signs of columns are not those of LAPACK."""
    count = f.shape_of(1)[-1]
    is_wide = sizes(f.A)[-1] != count
    a = f.A.swap_last_axes() if is_wide else f.A
    is_read = f.compute_uv and (f.is_read(0) or f.is_read(2))
    found = orthogonalize(f, a, with_v=is_read)
    if not f.compute_uv:
        return [f.full(0, f.shape_of(0), f.dtype), found.norms, f.full(0, f.shape_of(2), f.dtype)]
    if not is_read:
        return [None, found.norms, None]
    width = sizes(a)[-2] if f.full_matrices else count
    reflections = triangularize(f, found.columns, count)
    signs = (diagonal_of(f, reflections.packed) < 0).where(e.scalar(-1, a), e.scalar(1, a))
    left = first_columns(f, Reflections(reflections.packed, reflections.scales), count, width)
    left = left * _extend(f, signs, width)
    assert found.v is not None
    u, v = (found.v, left) if is_wide else (left, found.v)
    return [u, found.norms, v.swap_last_axes()]


def _extend(f: Call, signs: Value, width: Form) -> Value:
    """Return signs (..., 1, width) that are 1 behind the given ones."""
    known = sizes(signs)[-1]
    row = signs.unsqueeze([signs.rank - 1])
    if known == width:
        return row
    more = f.full(1, (*sizes(row)[:-1], width - known), signs.dtype)
    return f.e.concat([row, more], row.rank - 1)


def qr(f: Call, e: Builder) -> Sequence[Value | None]:
    """Q and R of mode `reduced`, `complete` or `r`, with the signs of LAPACK."""
    rows, columns = sizes(f.A)[-2:]
    r_rows = f.shape_of(1)[-2]
    count = smallest(rows, columns) if f.mode == "complete" else r_rows
    found = triangularize(f, f.A, count)
    r = upper(f, found.packed, r_rows)
    if f.mode == "r":
        return [f.full(0, f.shape_of(0), f.dtype), r]
    return [first_columns(f, found, count, f.shape_of(0)[-1]), r]


def packed_reflections(f: Call, e: Builder) -> Sequence[Value | None]:
    found = triangularize(f, f.self, f.shape_of(1)[-1])
    return [found.packed, found.scales]


def product_of_reflections(f: Call, e: Builder) -> Value:
    """The first columns of the product of reflections in columns."""
    count = sizes(f.tau)[-1]
    return first_columns(f, Reflections(f.input, f.tau), count, sizes(f.input)[-1])


def product_with_reflections(f: Call, e: Builder) -> Value:
    """Q C, Q^T C, C Q or C Q^T."""
    found, count = Reflections(f.self, f.input2), sizes(f.input2)[-1]
    if f.left:
        return apply_reflections(f, found, f.input3, count, transposed=f.transpose)
    other = f.input3.swap_last_axes()
    return apply_reflections(f, found, other, count, transposed=not f.transpose).swap_last_axes()


def pseudo_inverse(f: Call, e: Builder) -> Value:
    """V diag(1/s) U^T, without the singular values below a tolerance."""
    a = _symmetric(f, f.self, from_upper=False) if f.hermitian else f.self
    rows, columns = sizes(a)[-2:]
    found = orthogonalize(f, a, with_v=True)
    assert found.v is not None
    norms, last = found.norms, found.norms.rank - 1
    default = f.number(largest(rows, columns), f.dtype) * epsilon_of(f.dtype)
    absolute = f.atol.cast(f.dtype).unsqueeze([f.atol.rank]) if f.has("atol") else None
    if f.has("rtol"):
        relative = f.rtol.cast(f.dtype).unsqueeze([f.rtol.rank])
    else:
        relative = default if absolute is None else (absolute > 0).where(e.scalar(0, default), default)
    most = norms.apply(onnx.ReduceMaxOp, e.ints([last]), keepdims=1)
    bound = relative * most
    bound = bound if absolute is None else bound.at_least(absolute)
    is_kept = norms > bound
    inverse = is_kept.where(is_kept.where(norms, 1.0).apply(onnx.ReciprocalOp), 0)
    weighted = found.v * inverse.unsqueeze([last])
    units = found.columns * inverse.unsqueeze([last])
    return weighted @ units.swap_last_axes()


MOST_SQUARINGS = {"f32": 126, "f64": 1022}
"""Largest exponent of 2 by which a matrix is divided."""

DEGREE, BLOCK = 20, 4
"""Degree of the Taylor polynomial, and of the powers of which it is computed."""

NORMS = {"f32": 3, "f64": 1}
"""Norms up to which the polynomial is exact to a rounding."""


def exponential(f: Call, e: Builder) -> Value:
    """The Taylor polynomial of a / 2^k, squared k times (Paterson and Stockmeyer, 1973)."""
    a = f.self
    norm = a.square().sum_axes([a.rank - 2, a.rank - 1], keepdims=1).sqrt()
    dtype = known_dtype(a.dtype).name
    most = MOST_SQUARINGS[dtype]
    count = ((norm / NORMS[dtype]).log() / log(2)).apply(onnx.CeilOp).clip_to(0, most)
    scaled = a * (e.scalar(2, a) ** -count)
    identity = square_of(f, a).identity(a)
    powers = [identity, scaled]
    while len(powers) <= BLOCK:
        powers.append(powers[-1] @ scaled)
    found = powers[0] * (1 / factorial(DEGREE))
    for start in range(DEGREE - BLOCK, -1, -BLOCK):
        found = found @ powers[BLOCK]
        for index, power in enumerate(powers[:BLOCK]):
            found = found + power * (1 / factorial(start + index))
    return _square_repeatedly(f, expand_to(f, found, sizes(a)), count)


def _square_repeatedly(f: Call, a: Value, count: Value) -> Value:
    """Return matrices squared as often as `count` (..., 1, 1) says."""
    kind = a.value.type
    block = Block(arg_types=[tensor_type(i64, ()), tensor_type(i1, ()), kind])
    inner = Builder(strict_ieee=f.e.strict_ieee)
    index, _, given = map(inner, block.args)
    rest = inner(count.value) - index.cast(a.dtype)
    new = (rest > 0).where(given @ given, given).assume_shape(a.shape)
    going = _any(rest > 1)
    block.add_ops([*inner.emit.ops, YieldOp(going.value, new.value)])
    made = onnx.LoopOp(None, _any(count > 0).value, [a.value], body=Region(block), result_types=[kind])
    return f.e(f.e.emit.all(made)[0])


def _any(given: Value) -> Value:
    return given.cast(i64).sum_axes(list(range(given.rank))) > 0


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_linalg_eigh.default": symmetric_eigenvalues,
        "_linalg_svd.default": singular_values,
        "geqrf.default": packed_reflections,
        "linalg_householder_product.default": product_of_reflections,
        "linalg_matrix_exp.default": exponential,
        "linalg_pinv.atol_rtol_tensor": pseudo_inverse,
        "linalg_qr.default": qr,
        "ormqr.default": product_with_reflections,
    }
)
