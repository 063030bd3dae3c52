"""Arithmetic on dims, including symbolic and unknown ones, and on vectors of sizes and axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import zip_longest

from dialects.onnx.call import Tensor
from dialects.shapes import bounds, sizes
from dialects.shapes.forms import Extreme, Form, Size, TooComplex
from dialects.support import size_guards
from dialects.support.diagnostics import violation
from dialects.support.memo import Memo
from dialects.support.shapes import Dim, Shape, show

TO_THE_END = 2**31 - 1
"""A bound that no size reaches: the end of a Slice "to the end"."""


def broadcast_dims(a: Dim, b: Dim) -> Dim:
    """Return the broadcast of two dims: equal, or one is 1.

    An unknown dim against one that is not 1 must be that size, or 1.
    """
    if a == 1 or a == b:
        return b
    if b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int):
        raise violation("dims do not broadcast", given=f"{a} and {b}")
    if a is not None and b is not None and size_guards.is_collecting():
        return size_guards.broadcast(a, b)
    if isinstance(a, int) or isinstance(b, int):
        return a if isinstance(a, int) else b
    if is_min_with(a, b) or is_min_with(b, a):
        return b if is_min_with(a, b) else a
    return next((dim for dim in (a, b) if is_at_least(dim, 2)), None)


def is_min_with(a: Dim, b: Dim) -> bool:
    """Return whether `a` is min(n, b) with a number n > 1: if a and b broadcast they are equal, since
    otherwise both exceed 1."""
    atom = a.atom if isinstance(a, Size) else None
    if not isinstance(atom, Extreme) or atom.function != "min" or b not in atom.forms:
        return False
    return all(isinstance(form, int) and form > 1 for form in atom.forms if form != b)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """Return numpy's broadcast of any number of shapes."""
    result: list[Dim] = []
    for dims in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        merged: Dim = 1
        for dim in dims:
            merged = broadcast_dims(merged, dim)
        result.append(merged)
    return tuple(reversed(result))


def ints(dims: Sequence[Dim] | None) -> list[int] | None:
    """Return the elements of a vector, or None unless all are static."""
    if dims is None or not all(isinstance(dim, int) for dim in dims):
        return None
    return [dim for dim in dims if isinstance(dim, int)]


MOST_AXES = 64
"""numpy's maximum rank, which exceeds that of all runtimes."""


def vector(tensor: Tensor, what: str, most: int = MOST_AXES) -> tuple[Dim, ...] | None:
    """Return the elements of a vector operand of sizes or axes; None if its length is unknown.

    Unknown elements are None. Raises GradcError for more than `most` elements: one per axis, unless the op
    has more.
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


def _lift(function: Callable[..., Form | None], *dims: Dim) -> Dim:
    """Apply a function to dims; None if one is unknown, or the result is too complex."""
    known = [dim for dim in dims if dim is not None]
    if len(known) < len(dims):
        return None
    if any(isinstance(dim, Size) for dim in known):
        return _RESULTS.get((function, *known), lambda: _apply(function, known))
    return _apply(function, known)


_RESULTS = Memo(2**14)


def _apply(function: Callable[..., Form | None], known: Sequence[Form]) -> Dim:
    try:
        return function(*known)
    except (TooComplex, ZeroDivisionError):
        return None


def add(a: Dim, b: Dim) -> Dim:
    return _lift(operator.add, a, b)


def subtract(a: Dim, b: Dim) -> Dim:
    return _lift(operator.sub, a, b)


def multiply(a: Dim, b: Dim) -> Dim:
    if a == 0 or b == 0:
        return 0
    return _lift(operator.mul, a, b)


def product(dims: Sequence[Dim]) -> Dim:
    return reduce(multiply, dims, 1)


def floordiv(a: Dim, b: Dim) -> Dim:
    return _lift(sizes.floordiv, a, b)


def ceildiv(a: Dim, b: Dim) -> Dim:
    return _lift(sizes.ceildiv, a, b)


def mod(a: Dim, b: Dim) -> Dim:
    return _lift(sizes.mod, a, b)


def truncdiv(a: Dim, b: Dim) -> Dim:
    """Return a/b rounded towards zero, as ONNX divides integers."""
    return _lift(sizes.truncdiv, a, b)


def smallest(*dims: Dim) -> Dim:
    return _lift(sizes.smallest, *dims)


def largest(*dims: Dim) -> Dim:
    return _lift(sizes.largest, *dims)


def is_at_least(dim: Dim, least: int) -> bool:
    """Return whether a dim is proven to be at least `least`."""
    return dim is not None and bounds.is_at_least(dim, least)


def is_negative(dim: Dim) -> bool:
    """Return whether a dim, or another integer read as one, is proven to be below 0."""
    return dim is not None and bounds.upper(dim) < 0


def vanishes_with(dim: Dim, other: Dim) -> bool:
    """Return whether a dim is proven to be 0 wherever another one is."""
    if mod(dim, other) == 0:
        return True
    if not isinstance(dim, Size) or not isinstance(other, Size):
        return False
    (factors, _), *others = other.terms
    return not others and all(atom in monomial for atom in factors for monomial, _ in dim.terms)


def quotient(numerator: Sequence[Dim], denominator: Sequence[Dim]) -> Dim:
    """Return the quotient of two products of dims, or None if it is unknown.

    Equal factors cancel even if they may be 0: the caller needs the quotient for nonzero factors only. Raises
    GradcError if one static product does not divide the other.
    """
    top = list(numerator)
    bottom: list[Dim] = []
    for dim in denominator:
        if dim is not None and dim in top:
            top.remove(dim)
        else:
            bottom.append(dim)
    whole, divisor = product(top), product(bottom)
    if divisor == 0 or None in (*top, *bottom):
        return None
    if isinstance(whole, int) and isinstance(divisor, int) and whole % divisor:
        raise violation("Reshape", given=f"{whole} elements", expected=f"a multiple of {divisor}")
    return floordiv(whole, divisor)


def slice_length(dim: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """Return the length of a Slice of a dynamic dim, or between dynamic bounds."""
    if step < 0:
        whole = start in (-1, TO_THE_END) and isinstance(end, int) and end <= -TO_THE_END
        return ceildiv(dim, -step) if whole else None
    last = _ends(dim, end)
    if last is None or start is None:
        return None
    choose, ends = last
    if is_at_least(start, 0):
        # a start beyond the end gives an empty slice, clamped or not
        taken = choose(*(subtract(each, start) for each in ends))
    elif is_negative(start):
        from_end = (subtract(each, add(dim, start)) for each in ends)
        taken = smallest(choose(*from_end), choose(*ends))
    else:
        return None
    return largest(0, ceildiv(taken, step))


def _ends(dim: Dim, end: Dim) -> tuple[Callable[..., Dim], tuple[Dim, ...]] | None:
    """Return the end of a Slice as a minimum or maximum of forms; None if its sign is unknown."""
    if isinstance(end, int) and end >= TO_THE_END:
        return smallest, (dim,)
    if is_at_least(end, 0):
        return smallest, (end, dim)
    return (largest, (add(dim, end), 0)) if is_negative(end) else None


def slice_bounds(dim: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Clamp bounds as ONNX does: a negative bound counts from the end once, and is then at least -1.

    Unlike in a Python slice, an end of -dim - 1 or less with a negative step means "through index 0".
    """
    start = start + dim if start < 0 else start
    end = end + dim if end < 0 else end
    if step > 0:
        return min(max(start, 0), dim), min(max(end, 0), dim), step
    return min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step
