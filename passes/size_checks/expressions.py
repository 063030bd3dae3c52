"""Symbolic sizes of the verifiers, and their values in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.shapes.bounds import is_at_least
from dialects.shapes.forms import Atom, Extreme, Form, Monomial, Quotient, Size, constant_of, name
from dialects.support.shapes import Dim, shape_of
from dialects.support.size_guards import SizeGuard
from passes.builder.op_builder import OpBuilder
from passes.size_checks import rows
from passes.size_checks.rows import Element, Row

DEEPEST = 2
"""Limit on the depth of an expression; results of deeper ones are opaque sizes."""


class UnknownSize(Exception):
    """An expression contains a size that the graph does not have."""


class Expressions:
    """Maps expressions to sizes in the graph, computing missing ones there once."""

    def __init__(self, emit: OpBuilder):
        self._emit = emit
        self._forms: dict[Element, Size] = {}
        self._products: dict[Monomial, Element] = {}
        self._sums: dict[Size, Element] = {}

    def form(self, size: rows.Size) -> Form:
        """Return the expression of a size of the graph."""
        if isinstance(size, int):
            return size
        if size not in self._forms:
            named = name(f"#{len(self._forms)}")
            assert named.atom is not None
            self._forms[size], self._products[(named.atom,)] = named, size
        return self._forms[size]

    def define(self, text: str, element: Element) -> None:
        """Let a name be a size of the graph."""
        (atom,) = (name(text).atom,)
        assert atom is not None
        self._products[(atom,)] = element

    def vector(self, forms: Sequence[Form]) -> SSAValue:
        """Return sizes as one vector. Raises UnknownSize if one contains a size that the graph lacks."""
        elements = [form if isinstance(form, int) else self._element(form) for form in forms]
        return rows.vector_of(elements, self._emit)

    def size(self, dim: Dim) -> rows.Size | None:
        """Return the size in the graph of an expression; None for unknown dims."""
        if dim is None or isinstance(dim, int):
            return dim
        try:
            found = self._element(dim)
        except UnknownSize:
            return None
        if dim.depth <= DEEPEST:
            self._forms.setdefault(found, dim)
        return found

    def row(self, guard: SizeGuard) -> list[Row]:
        """Convert a condition on sizes to a row of the check. Raises UnknownSize."""
        form = guard.form
        terms = [(factor, self._product(monomial)) for monomial, factor in form.terms if monomial]
        return rows.row(guard.what, terms, constant_of(form) - guard.low, guard.high - guard.low)

    def _element(self, form: Size) -> Element:
        if form.atom is not None:
            return self._product((form.atom,))
        if form not in self._sums:
            terms = [self._term(monomial, factor) for monomial, factor in form.terms]
            self._sums[form] = Element(reduce(self._emit.add, terms), 0)
        return self._sums[form]

    def _product(self, monomial: Monomial) -> Element:
        if monomial not in self._products:
            factors = [self._atom(atom) for atom in monomial]
            self._products[monomial] = Element(reduce(self._emit.mul, factors), 0)
        return self._products[monomial]

    def _term(self, monomial: Monomial, factor: int) -> SSAValue:
        scale = self._emit.ints([factor])
        if not monomial:
            return scale
        product = self._alone(self._product(monomial))
        return product if factor == 1 else self._emit.mul(product, scale)

    def _alone(self, element: Element) -> SSAValue:
        """Return the element as a vector of one element."""
        if shape_of(element.vector) == (1,):
            return element.vector
        return self._emit.take(element.vector, [element.index])

    def _vector(self, form: Form) -> SSAValue:
        return self._emit.ints([form]) if isinstance(form, int) else self._alone(self._element(form))

    def _atom(self, atom: Atom) -> SSAValue:
        """Return the value of an atom. The recursion is at most `forms.MAX_DEPTH` deep, as forms are."""
        if (atom,) in self._products:
            return self._alone(self._products[(atom,)])
        if isinstance(atom, Quotient):
            return self._quotient(atom)
        if not isinstance(atom, Extreme):
            raise UnknownSize(atom.text)
        cls = onnx.MinOp if atom.function == "min" else onnx.MaxOp
        return self._emit(cls([self._vector(form) for form in atom.forms]))

    def _quotient(self, atom: Quotient) -> SSAValue:
        """Divide; a divisor of 0, which another condition excludes, would end the runtime's process."""
        divisor = self._vector(atom.divisor)
        if not is_at_least(atom.divisor, 1):
            divisor = self._emit.max(divisor, 1)
        divide = self._emit.div if is_at_least(atom.dividend, 0) else self._emit.floordiv
        return divide(self._vector(atom.dividend), divisor)
