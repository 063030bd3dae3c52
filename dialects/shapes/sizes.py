"""Arithmetic on sizes, which are ints or expressions over names.

Forms implement `+`, `-` and `*`. Divisions round down, like Python's; ONNX rounds towards zero, which is the
same for non-negative operands only (`truncdiv`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import gcd

from dialects.shapes.bounds import is_at_least
from dialects.shapes.forms import (
    Atom,
    Extreme,
    Form,
    Leaf,
    Monomial,
    Name,
    Quotient,
    Size,
    constant_of,
    form_text,
    of_atom,
    polynomial,
    terms_of,
)

MAX_DIVISION_STEPS = 64
"""Step limit of a polynomial division."""

MAX_EXTREME_OPERANDS = 8
"""Operand limit for comparing the operands of a minimum or maximum pairwise."""


# Division


def floordiv(a: Form, b: Form) -> Form:
    """Return the floor of a/b for b != 0. Raises ZeroDivisionError if b is the number 0."""
    if isinstance(b, int):
        return _by_number(a, b) if b >= 0 else _by_number(-a, -b)
    quotient, rest = _polynomial_divmod(a, b)
    if rest == 0 or _is_below(rest, b):
        return quotient
    top, bottom = _cancel_common(rest, b)
    if isinstance(bottom, int) or (top, bottom) != (rest, b):
        return quotient + floordiv(top, bottom)
    return quotient + of_atom(Quotient(rest, b))


def ceildiv(a: Form, b: Form) -> Form:
    """Return the ceiling of a/b."""
    return -floordiv(-a, b)


def mod(a: Form, b: Form) -> Form:
    """Return a - floor(a/b) b, which has b's sign."""
    return a - floordiv(a, b) * b


def truncdiv(a: Form, b: Form) -> Form | None:
    """Return a/b rounded towards zero, as ONNX divides; None if b is 0, or a symbolic quotient may be
    negative."""
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if b == 0:
        return None
    if is_at_least(a, 0) and is_at_least(b, 0):
        return floordiv(a, b)
    return largest(0, floordiv(a, b)) if isinstance(b, int) and b > 0 and is_at_least(a, 1 - b) else None


def _by_number(a: Form, n: int) -> Form:
    """Return floor(a/n): split off multiples of n, then cancel common factors of the rest and n."""
    if n == 0:
        raise ZeroDivisionError("a size divided by 0")
    if isinstance(a, int) or n == 1:
        return a // n if isinstance(a, int) else a
    whole = polynomial((monomial, factor // n) for monomial, factor in a.terms)
    rest = polynomial((monomial, factor % n) for monomial, factor in a.terms)
    if isinstance(rest, int):
        return whole
    common = reduce(gcd, (factor for monomial, factor in rest.terms if monomial), n)
    rest = polynomial((monomial, factor // common) for monomial, factor in rest.terms)
    return whole + _lone_quotient(rest, n // common)


def _lone_quotient(a: Form, n: int) -> Form:
    """Return floor(a/n) of a reduced quotient: 0, an atom, or (b//m + c)//n as (b + c m)//(m n)."""
    if _is_below(a, n):
        return 0
    offset = constant_of(a)
    inner = a - offset
    atom = inner.atom if isinstance(inner, Size) else None
    if isinstance(atom, Quotient) and isinstance(atom.divisor, int):
        return floordiv(atom.dividend + offset * atom.divisor, atom.divisor * n)
    return of_atom(Quotient(a, n))


def _is_below(a: Form, b: Form) -> bool:
    """Return whether 0 <= a < b is proven."""
    return is_at_least(a, 0) and is_at_least(b - a, 1)


def _polynomial_divmod(a: Form, b: Size) -> tuple[Form, Form]:
    """Return quotient and remainder of polynomial division, a = q b + r, by the leading term of b.

    Return (0, a) if that takes too many steps, or b's leading term is negative.
    """
    lead, scale = max(b.terms, key=_order_in(a, b))
    if scale < 0:
        return 0, a
    quotient, rest, left = 0, 0, a
    for _ in range(MAX_DIVISION_STEPS):
        if left == 0:
            return quotient, rest
        monomial, factor = max(terms_of(left), key=_order_in(a, b))
        part = _divide_monomial(monomial, lead)
        times = factor // scale if part is not None else 0
        if part is not None and times:
            term = polynomial([(part, times)])
            quotient, left = quotient + term, left - term * b
            factor -= times * scale
        taken = polynomial([(monomial, factor)])
        rest, left = rest + taken, left - taken
    return 0, a


def _order_in(a: Form, b: Form) -> Callable[[tuple[Monomial, int]], tuple[int, list[int]]]:
    """Return a sort key: graded lexicographic order of monomials in the atoms of two forms."""
    atoms = {x: None for form in (a, b) for monomial, _ in terms_of(form) for x in monomial}
    ordered = sorted(atoms, key=lambda atom: atom.text)
    return lambda term: (len(term[0]), [term[0].count(atom) for atom in ordered])


def _divide_monomial(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Return monomial / divisor, or None if the divisor does not divide it."""
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _cancel_common(a: Form, b: Size) -> tuple[Form, Form]:
    """Divide both by their common factors, which are nonzero wherever the quotient is defined."""
    terms = [*terms_of(a), *b.terms]
    number = reduce(gcd, (factor for _, factor in terms))
    common: Monomial = terms[0][0]
    for monomial, _ in terms:
        left = list(monomial)
        common = tuple(atom for atom in common if atom in left and not left.remove(atom))
    return _without(a, common, number), _without(b, common, number)


def _without(form: Form, common: Monomial, number: int) -> Form:
    reduced = ((_divide_monomial(monomial, common), factor // number) for monomial, factor in terms_of(form))
    return polynomial((monomial, factor) for monomial, factor in reduced if monomial is not None)


# Minimum and maximum


def smallest(*forms: Form) -> Form:
    return _extreme("min", forms, lambda a, b: is_at_least(a - b, 0))


def largest(*forms: Form) -> Form:
    return _extreme("max", forms, lambda a, b: is_at_least(b - a, 0))


def _extreme(function: str, forms: tuple[Form, ...], gives_way: Callable[[Form, Form], bool]) -> Form:
    """Return the minimum or maximum, without operands that another one is proven to dominate."""
    flat: dict[Form, None] = {}
    for form in forms:
        atom = form.atom if isinstance(form, Size) else None
        inner = atom.forms if isinstance(atom, Extreme) and atom.function == function else (form,)
        flat |= dict.fromkeys(inner)
    left = sorted(flat, key=form_text)
    if len(left) <= MAX_EXTREME_OPERANDS:
        for form in tuple(left):
            others = [other for other in left if other is not form]
            if any(gives_way(form, other) for other in others):
                left = others
    return left[0] if len(left) == 1 else of_atom(Extreme(function, tuple(left)))


# Substitution


def substitute(form: Form, values: Mapping[str, Form]) -> Form:
    """Replace names by other forms."""
    return _map_leaves(form, lambda leaf: values.get(leaf.name) if isinstance(leaf, Name) else None)


def _map_leaves(form: Form, value: Callable[[Leaf], Form | None]) -> Form:
    """Replace leaves. Recursion is bounded by `DEEPEST`."""
    if isinstance(form, int) or all(value(leaf) is None for leaf in form.leaves):
        return form
    total: Form = 0
    for monomial, factor in form.terms:
        product: Form = factor
        for atom in monomial:
            product = product * _map_atom(atom, value)
        total = total + product
    return total


def _map_atom(atom: Atom, value: Callable[[Leaf], Form | None]) -> Form:
    if isinstance(atom, Quotient):
        return floordiv(_map_leaves(atom.dividend, value), _map_leaves(atom.divisor, value))
    if isinstance(atom, Extreme):
        function = smallest if atom.function == "min" else largest
        return function(*(_map_leaves(form, value) for form in atom.forms))
    found = value(atom)
    return of_atom(atom) if found is None else found
