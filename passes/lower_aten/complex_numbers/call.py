"""Calls with complex operands or results, and the calls of real rules on their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.aten.ops import AtenOp
from dialects.support.shapes import element_type_of
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Number, Rule
from passes.lower_aten.complex_numbers.pair import Pair
from passes.size_checks.expressions import Expressions

ComplexRule: TypeAlias = Callable[[Any, Builder], "Value | Pair | Sequence[Value | Pair | None]"]
"""A rule of a `ComplexCall`, whose results may be pairs."""

_KEPT = ("index", "indices", "mask", "condition")
"""Arguments that are no numbers."""

_NUMBERS = ("value", "fill_value", "s", "self", "other")
"""Arguments that are numbers if they are no tensors."""


def is_complex(dtype: Attribute) -> bool:
    """Return whether an element type is complex."""
    return isinstance(dtype, ComplexType)


def is_complex_op(op: Operation) -> bool:
    """Return whether an op has complex operands or results."""
    return any(is_complex(element_type_of(value)) for value in (*op.operands, *op.results))


def part_dtype(dtype: Attribute) -> Attribute:
    """Return the element type of the parts of a complex one; others are as they are."""
    return cast(Attribute, dtype.element_type) if isinstance(dtype, ComplexType) else dtype


class ComplexCall(Call):
    """A call in which complex tensors are pairs; dtypes are those of their parts."""

    def __init__(self, op: AtenOp, e: Builder, sizes: Expressions, pairs: Mapping[SSAValue, Pair]):
        self.pairs = pairs
        super().__init__(op, e, sizes)

    def _scalar(self, argument: Any) -> Any:
        is_pair = isinstance(argument, SSAValue) and argument in self.pairs
        return self.pairs[argument] if is_pair else super()._scalar(argument)

    def dtype_of(self, index: int) -> Attribute:
        return part_dtype(super().dtype_of(index))

    @property
    def is_complex(self) -> bool:
        """True if the first result is complex."""
        return is_complex(element_type_of(self.op.results[0]))

    def pair(self, given: Any) -> Pair:
        """Return an argument, a pair, a real value or a number, as a pair of the dtype of the parts."""
        if isinstance(given, Pair):
            return given.map(lambda part: part.cast(self.dtype))
        if not isinstance(given, complex):
            return Pair(self.operand(given, self.dtype), None)
        parts = (given.real, given.imag)
        re, im = (self.number(part, self.dtype) if part else None for part in parts)
        return Pair(self.number(0, self.dtype), None) if re is None and im is None else Pair(re, im)


class _PartCall(Call):
    """A call on the real or the imaginary parts."""

    def __init__(self, f: ComplexCall, is_imaginary: bool):
        self.op, self.e, self.sizes = f.op, f.e, f.sizes
        self.is_imaginary = is_imaginary
        self.arguments = {name: self._part(name, value) for name, value in f.arguments.items()}

    def dtype_of(self, index: int) -> Attribute:
        return part_dtype(super().dtype_of(index))

    def _part(self, name: str, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self._part_of_one(name, each) for each in cast(list[Any], argument)]
        return self._part_of_one(name, argument)

    def _part_of_one(self, name: str, argument: Any) -> Any:
        if isinstance(argument, Pair):
            return argument.imag() if self.is_imaginary else argument.real()
        if name in _KEPT or argument is None:
            return argument
        if isinstance(argument, Value):
            return self.e.fill_like(0, argument) if self.is_imaginary else argument
        return self._part_of_number(argument) if name in _NUMBERS else argument

    def _part_of_number(self, number: Number | complex) -> Number:
        if isinstance(number, complex):
            return number.imag if self.is_imaginary else number.real
        return 0 if self.is_imaginary else number


class _CallWith(Call):
    """A call with other arguments."""

    def __init__(self, f: Call, arguments: Mapping[str, Any]):
        self.op, self.e, self.sizes = f.op, f.e, f.sizes
        self.arguments = {**f.arguments, **arguments}


def call_with(f: Call, **arguments: Any) -> Call:
    """Return a call with other values of some arguments."""
    return _CallWith(f, arguments)


def by_parts(rule: Rule) -> ComplexRule:
    """Return the rule of an op that does the same to both parts, by its rule of real tensors."""

    def complex_rule(f: ComplexCall, e: Builder) -> Any:
        re = rule(_PartCall(f, is_imaginary=False), e)
        im = rule(_PartCall(f, is_imaginary=True), e) if _has_imaginary_part(f) else None
        if isinstance(re, Value):
            return Pair(re, cast("Value | None", im))
        parts = zip(re, [None] * len(re) if im is None else cast("Sequence[Any]", im), strict=True)
        return [None if real is None else Pair(real, imaginary) for real, imaginary in parts]

    return complex_rule


def real_part(rule: Rule) -> ComplexRule:
    """Return the rule of an op whose results are real, whatever its operands are, by its rule of real
    tensors."""
    return lambda f, e: Pair(cast(Value, rule(_PartCall(f, is_imaginary=False), e)), None)


def _has_imaginary_part(f: ComplexCall) -> bool:
    return any(
        (isinstance(one, Pair) and one.im is not None) or (isinstance(one, complex) and one.imag != 0)
        for value in f.arguments.values()
        for one in (cast(list[Any], value) if isinstance(value, list) else [value])
    )
