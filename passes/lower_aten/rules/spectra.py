"""Discrete Fourier transforms by constant matrices, of long axes in two stages, or by the op DFT."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import i64

from dialects.aten.ratios import Ratio
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call
from passes.lower_aten.complex_numbers.call import ComplexRule
from passes.lower_aten.complex_numbers.pair import Pair, negative
from passes.lower_aten.indices import iota
from passes.lower_aten.rules.shape import permute_axes, product_of, reshape_to, slice_axis
from passes.lower_aten.rules.slices import pad_axis
from passes.lower_aten.shapes import sizes

MOST_BY_MATRIX = 256
"""Size of an axis up to which its transform is one product with a matrix, and largest factor of a longer one.
onnxruntime's DFT of one thread takes 6 times as long at 128 points, 20 at 400 in two stages, 2.4 at 512."""

BY_ROOT, BY_COUNT = 1, 2
"""Normalizations of torch; 0 is none."""


def real_to_complex(f: Call, e: Builder) -> Pair:
    """The transform of real data, along the last of `dim` only the first half of it if `onesided`."""
    *others, last = _axes(f, f.self.rank)
    size = sizes(f.self)[last]
    bins = floordiv(size, 2) + 1 if f.onesided else size
    found = _transform(f, Pair(f.self, None), last, bins)
    for axis in others:
        found = _transform(f, found, axis, sizes(found.some)[axis])
    return _normalize(f, found, [sizes(f.self)[axis] for axis in (*others, last)])


def complex_to_complex(f: Call, e: Builder) -> Pair:
    """The transform, or the inverse one without its factor: the transform of swapped parts, swapped."""
    found: Pair = f.self if f.forward else f.self.swap_parts()
    axes = _axes(f, found.some.rank)
    for axis in axes:
        found = _transform(f, found, axis, sizes(found.some)[axis])
    found = found if f.forward else found.swap_parts()
    return _normalize(f, found, [sizes(found.some)[axis] for axis in axes])


def complex_to_real(f: Call, e: Builder) -> Value:
    """The inverse transform of a spectrum of real data, of which the last of `dim` has the first half."""
    z: Pair = f.self
    *others, last = _axes(f, z.some.rank)
    found = z.swap_parts()
    for axis in others:
        found = _transform(f, found, axis, sizes(found.some)[axis])
    data = _data_of_half(f, found.swap_parts(), last, f.last_dim_size)
    counts = [*(sizes(z.some)[axis] for axis in others), f.last_dim_size]
    return _normalize(f, Pair(data, None), counts).real()


def _axes(f: Call, rank: int) -> list[int]:
    return [axis % rank for axis in f.dim]


def _normalize(f: Call, z: Pair, counts: list[Form]) -> Pair:
    """Divide by the number of points, or its root."""
    count = product_of(counts)
    if f.normalization not in (BY_ROOT, BY_COUNT) or count == 1:
        return z
    if isinstance(count, int):
        return z.times(1 / count if f.normalization == BY_COUNT else count**-0.5)
    factor = f.number(Ratio(1, count), z.some.dtype)
    return z.times(factor if f.normalization == BY_COUNT else factor.sqrt())


def _transform(f: Call, z: Pair, axis: int, bins: Form) -> Pair:
    """Return the first bins of the sums over j of z[j] exp(-2 pi i j k / n), n the size of an axis."""
    size = sizes(z.some)[axis]
    if isinstance(size, int) and isinstance(bins, int) and size <= MOST_BY_MATRIX:
        cosines, sines = _waves(f, z.some, size, np.arange(size), np.arange(bins))
        return _along(axis, z, Pair(cosines, negative(sines)))
    factors = _factors(size)
    if factors is not None and isinstance(bins, int):
        return _on_last(axis, z, lambda rows: _in_stages(f, rows, *factors, bins))
    return _by_dft(f, z, axis, bins, is_half=bins != size)


def _factors(size: Form) -> tuple[int, int] | None:
    """Return the two factors of a size that are nearest to each other; None if one is too large, or for a
    dynamic size."""
    if not isinstance(size, int):
        return None
    less = max(number for number in range(1, math.isqrt(size) + 1) if size % number == 0)
    return (less, size // less) if size // less <= MOST_BY_MATRIX else None


def _in_stages(f: Call, z: Pair, first: int, second: int, bins: int) -> Pair:
    """Return the first bins of the transform of the last axis, of first * second points (Cooley and Tukey).

    Point second * i + j is at (i, j) of a matrix, bin p + first * q at (p, q) of its transform.
    """
    size, batch = first * second, sizes(z.some)[:-1]
    blocks = z.map(lambda part: reshape_to(f, part, (*batch, first, second)))
    inner = _transform(f, blocks, len(batch), first)
    cosines, sines = _waves(f, z.some, size, np.arange(first), np.arange(second))
    columns = -(-bins // first)
    outer = _transform(f, inner * Pair(cosines, negative(sines)), len(batch) + 1, columns)
    flat = outer.map(lambda part: reshape_to(f, part.swap_last_axes(), (*batch, columns * first)))
    return flat.map(lambda part: slice_axis(f, part, len(batch), 0, bins))


def _waves(
    f: Call, like: Value, size: int, rows: np.ndarray, columns: np.ndarray, counts: np.ndarray | float = 1
) -> tuple[Value, Value]:
    """Return cosines and sines of 2 pi rows columns / size, times a count of each row; zeros are exact."""
    angles = 2 * np.pi * (np.outer(rows, columns) % size / size)
    exact = (np.where(np.abs(wave) < 1e-15, 0, wave) for wave in (np.cos(angles), np.sin(angles)))
    cosines, sines = (f.e.constant(wave * np.reshape(counts, (-1, 1)), like) for wave in exact)
    return cosines, sines


def _along(axis: int, z: Pair, matrix: Pair) -> Pair:
    """Return the product of an axis with the rows of a matrix."""
    rank = z.some.rank
    if axis == rank - 2:
        return matrix.map(Value.swap_last_axes) @ z
    return _on_last(axis, z, lambda rows: rows @ matrix)


def _on_last(axis: int, z: Pair, of: Callable[[Pair], Pair]) -> Pair:
    """Apply a function of the last axis to another one."""
    order = list(range(z.some.rank))
    order[axis], order[-1] = order[-1], order[axis]
    found = of(z.map(lambda part: permute_axes(part, order)))
    return found.map(lambda part: permute_axes(part, order))


def _by_dft(f: Call, z: Pair, axis: int, bins: Form, *, is_half: bool) -> Pair:
    """Return the transform along an axis by the op, which has the parts along a last axis."""
    if z.re is None:
        return _by_dft(f, Pair(z.im, None), axis, bins, is_half=is_half).turn()
    rank = z.re.rank
    parts = [part.unsqueeze([rank]) for part in (z.re, z.im) if part is not None]
    whole = f.e.concat(parts, rank) if len(parts) > 1 else parts[0]
    place = f.e.number(axis, i64)
    found = whole.apply(onnx.DFTOp, None, place, onesided=int(is_half))
    shape = [bins if i == axis else size for i, size in enumerate(sizes(z.re))]
    found = found.assume_shape([*shape, 2])
    return Pair(*(found.apply(onnx.GatherOp, f.e.number(part, i64), axis=rank) for part in (0, 1)))


def _data_of_half(f: Call, z: Pair, axis: int, size: Form) -> Value:
    """Return the real data of half a spectrum; all bins but the first, and the last of an even number, count
    twice."""
    bins = sizes(z.some)[axis]
    if isinstance(size, int) and isinstance(bins, int) and size <= MOST_BY_MATRIX:
        numbers = np.arange(bins)
        counts = np.where((numbers == 0) | (2 * numbers == size), 1.0, 2.0)
        cosines, sines = _waves(f, z.some, size, numbers, np.arange(size), counts)
        return _along(axis, z, Pair(cosines, sines)).real()
    column = [i for i in range(z.some.rank) if i != axis]
    numbers = iota(f, bins)
    ends = numbers.equals(0).apply(onnx.OrOp, (numbers * 2).equals(f.vector([size])))
    weighted = z.times((2 - ends.cast(z.some.dtype)).unsqueeze(column))
    whole = weighted.swap_parts().map(lambda part: pad_axis(f, part, axis, 0, size - bins))
    return _transform(f, whole, axis, size).imag()


RULES: Mapping[str, ComplexRule] = MappingProxyType(
    {
        "_fft_c2c.default": complex_to_complex,
        "_fft_c2r.default": complex_to_real,
        "_fft_r2c.default": real_to_complex,
    }
)
