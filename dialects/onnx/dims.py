"""Arithmetic on dims, of which some are names or unknown, and on vectors of sizes and axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from dialects.onnx.call import Tensor
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, show

TO_THE_END = 2**31 - 1
"""No size reaches this: how a Slice says "to the end"."""


def broadcast_dims(a: Dim, b: Dim) -> Dim:
    """The larger of two dims of which one is 1, or both of two equal ones.

    A dim of unknown size against a known one other than 1 must be that size, or 1.
    """
    if a == 1 or a == b:
        return b
    if b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int):
        raise violation("dims do not broadcast", given=f"{a} and {b}")
    if isinstance(a, int):
        return a
    return b if isinstance(b, int) else None


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """numpy's broadcast of any number of shapes."""
    result: list[Dim] = []
    for dims in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        merged: Dim = 1
        for dim in dims:
            merged = broadcast_dims(merged, dim)
        result.append(merged)
    return tuple(reversed(result))


def ints(dims: Sequence[Dim] | None) -> list[int] | None:
    """The elements of a vector, or None unless all of them are known."""
    if dims is None or not all(isinstance(dim, int) for dim in dims):
        return None
    return [dim for dim in dims if isinstance(dim, int)]


MOST_AXES = 64
"""What numpy's arrays may have, and more than any runtime's tensors."""


def vector(tensor: Tensor, what: str, most: int = MOST_AXES) -> tuple[Dim, ...] | None:
    """The elements of an operand that is a vector of sizes or axes; None where its length is not known.

    What is not known of them is None. Raises GradcError for more than `most`: an entry per axis, unless the
    op has others.
    """
    if tensor.rank != 1:
        raise violation(what, given=show(tensor.shape), expected="a vector")
    length = tensor.shape[0]
    if not isinstance(length, int):
        return None
    if length > most:
        raise violation(what, given=f"{length} values", expected=f"at most {most}")
    if tensor.dims is not None:
        return tensor.dims
    return (None,) * length if tensor.value is None else tuple(tensor.value.tolist())


def _product(dims: Sequence[Dim]) -> tuple[int, list[str]] | None:
    """A product as its static factor and its names, or None if a factor is unknown."""
    if any(dim is None for dim in dims):
        return None
    factor = math.prod(dim for dim in dims if isinstance(dim, int))
    return factor, sorted(dim for dim in dims if isinstance(dim, str))


def quotient(numerator: Sequence[Dim], denominator: Sequence[Dim]) -> Dim:
    """What a product of dims is when another product divides it: a dim, or None if it is not known.

    Equal names cancel. Raises GradcError where two static products do not divide.
    """
    top, bottom = _product(numerator), _product(denominator)
    if top is None or bottom is None:
        return None
    names = list(top[1])
    for name in bottom[1]:
        if name not in names:
            return None
        names.remove(name)
    if bottom[0] == 0:
        return None
    if names:
        return names[0] if len(names) == 1 and top[0] == bottom[0] else None
    if top[0] % bottom[0]:
        raise violation("Reshape", given=f"{top[0]} elements", expected=f"a multiple of {bottom[0]}")
    return top[0] // bottom[0]


def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    return a if b == 0 else None


def multiply(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1:
        return b
    return a if b == 1 else None


def slice_bounds(dim: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """ONNX's clamping: a negative bound counts from the end once; after that it is -1 at the least.

    Unlike a Python slice, an end of -dim - 1 or less with a negative step means "through index 0".
    """
    start = start + dim if start < 0 else start
    end = end + dim if end < 0 else end
    if step > 0:
        return min(max(start, 0), dim), min(max(end, 0), dim), step
    return min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step
