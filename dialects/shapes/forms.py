"""Sizes in a normal form: integer polynomials over names, fresh symbols, quotients, minima and maxima.

A form without any of them is an int. Forms are hash-consed, so `is` and `==` agree, and equal forms have
equal values at run time. The converse does not hold: `N//2 + (N + 1)//2` is not recognized as N.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TypeAlias
from weakref import WeakValueDictionary

MAX_TERMS = 32
MAX_FACTORS = 12
MAX_DEPTH = 8
MAX_COEFFICIENT = 2**62
"""Limits of a normal form. Beyond them a size is treated as unknown."""


class TooComplex(ArithmeticError):
    """The normal form of a size has too many terms or factors, is too deep, or has too large a number."""


@dataclass(frozen=True)
class Name:
    """A size that the source names: non-negative, and equal wherever the name is the same."""

    name: str

    @property
    def text(self) -> str:
        if _WORD.fullmatch(self.name) and self.name not in ("min", "max"):
            return self.name
        return '"' + re.sub(r'(["\\])', r"\\\1", self.name) + '"'


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Fresh:
    """An unnamed, non-negative size; equal only to itself."""

    number: int

    @property
    def text(self) -> str:
        return f"?{self.number}"


@dataclass(frozen=True)
class Quotient:
    """The floor of a quotient. Undefined for a divisor of 0."""

    dividend: Form
    divisor: Form

    @property
    def text(self) -> str:
        return f"{_operand(self.dividend)}//{_operand(self.divisor)}"


@dataclass(frozen=True)
class Extreme:
    """The minimum or maximum of several forms."""

    function: str
    forms: tuple[Form, ...]

    @property
    def text(self) -> str:
        return f"{self.function}({', '.join(map(form_text, self.forms))})"


Leaf: TypeAlias = Name | Fresh
Atom: TypeAlias = Name | Fresh | Quotient | Extreme
Monomial: TypeAlias = tuple[Atom, ...]
"""A product of atoms sorted by text; a square lists its atom twice, () is 1."""

Terms: TypeAlias = tuple[tuple[Monomial, int], ...]


class Size:
    """An integer polynomial that is no int. Created by arithmetic, `name` and `fresh` only.

    A size that is a single name equals the name's text, so shapes compare with what a user writes.
    """

    __slots__ = ("__weakref__", "depth", "leaves", "terms", "text")

    terms: Terms
    text: str
    leaves: frozenset[Leaf]
    """All names and fresh symbols in the form."""
    depth: int

    @property
    def atom(self) -> Atom | None:
        """The atom that this size consists of, or None."""
        ((monomial, factor), *others) = self.terms
        return monomial[0] if not others and factor == 1 and len(monomial) == 1 else None

    @property
    def name(self) -> str | None:
        """The name that this size consists of, or None."""
        atom = self.atom
        return atom.name if isinstance(atom, Name) else None

    @property
    def is_fresh(self) -> bool:
        """True if any leaf is a fresh symbol."""
        return any(isinstance(leaf, Fresh) for leaf in self.leaves)

    def __str__(self) -> str:
        return self.name or self.text

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and self.name == other)

    def __hash__(self) -> int:
        return hash(self.name or self.text)

    def __reduce__(self):
        return _of_terms, (self.terms,)

    def __add__(self, other: Form) -> Form:
        return polynomial(chain(self.terms, terms_of(other)))

    def __mul__(self, other: Form) -> Form:
        return polynomial((_times(a, b), x * y) for a, x in self.terms for b, y in terms_of(other))

    def __neg__(self) -> Form:
        return self * -1

    def __sub__(self, other: Form) -> Form:
        return self + other * -1

    def __rsub__(self, other: int) -> Form:
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__


Form: TypeAlias = int | Size

_KNOWN: WeakValueDictionary[Terms, Size] = WeakValueDictionary()
_LOCK = Lock()


def name(text: str) -> Size:
    """Return the size that the source calls `text`, which may be any string."""
    return _of_terms((((Name(text),), 1),))


def fresh(number: int) -> Size:
    return _of_terms((((Fresh(number),), 1),))


def of_atom(atom: Atom) -> Size:
    return _of_terms((((atom,), 1),))


def terms_of(form: Form) -> Terms:
    if isinstance(form, Size):
        return form.terms
    return (((), form),) if form else ()


def constant_of(form: Form) -> int:
    """Return the constant term of a form."""
    return dict(terms_of(form)).get((), 0)


def polynomial(terms: Iterable[tuple[Monomial, int]]) -> Form:
    """Return the sum of terms, which may repeat monomials and come in any order."""
    total: dict[Monomial, int] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    found = {monomial: factor for monomial, factor in total.items() if factor}
    if not found.keys() - {()}:
        return found.get((), 0)
    return _of_terms(tuple(sorted(found.items(), key=_term_sort_key)))


def _times(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=_text))


def _text(atom: Atom) -> str:
    return atom.text


def _term_sort_key(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    return -len(term[0]), [atom.text for atom in term[0]]


def _of_terms(terms: Terms) -> Size:
    found = _KNOWN.get(terms)
    if found is not None:
        return found
    made = _new_size(terms)
    with _LOCK:
        return _KNOWN.setdefault(terms, made)


def _new_size(terms: Terms) -> Size:
    atoms = [atom for monomial, _ in terms for atom in monomial]
    inner = [form for atom in atoms for form in forms_in(atom) if isinstance(form, Size)]
    depth = 1 + max((form.depth for form in inner), default=0)
    factors = max(len(monomial) for monomial, _ in terms)
    largest = max(abs(factor) for _, factor in terms)
    if len(terms) > MAX_TERMS or factors > MAX_FACTORS or depth > MAX_DEPTH or largest > MAX_COEFFICIENT:
        raise TooComplex(f"{len(terms)} terms, {factors} factors, depth {depth}")
    size = object.__new__(Size)
    size.terms = terms
    size.text = _terms_text(terms)
    size.depth = depth
    own = (atom for atom in atoms if isinstance(atom, Name | Fresh))
    size.leaves = frozenset(own).union(*(form.leaves for form in inner))
    return size


def forms_in(atom: Atom) -> tuple[Form, ...]:
    """Return the operand forms of an atom."""
    if isinstance(atom, Quotient):
        return (atom.dividend, atom.divisor)
    return atom.forms if isinstance(atom, Extreme) else ()


# Text


def _terms_text(terms: Terms) -> str:
    first, *others = (_term(monomial, factor) for monomial, factor in terms)
    signed = (f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in others)
    return first + "".join(signed)


def _term(monomial: Monomial, factor: int) -> str:
    if not monomial:
        return str(factor)
    if factor == 1 and len(monomial) == 1:
        return monomial[0].text
    product = "*".join(f"({a.text})" if isinstance(a, Quotient) else a.text for a in monomial)
    return {1: product, -1: f"-{product}"}.get(factor, f"{factor}*{product}")


def _operand(form: Form) -> str:
    """Return the text of an operand of a division."""
    bare = form >= 0 if isinstance(form, int) else isinstance(form.atom, Name | Fresh | Extreme)
    return form_text(form) if bare else f"({form_text(form)})"


def form_text(form: Form) -> str:
    """Return the text that `size_text.parse` reads: names that are not identifiers are quoted."""
    return form.text if isinstance(form, Size) else str(form)
