"""Documented attributes: the type word, the admitted values and the default of each, declared once.

A source op declares `strides = required(INTS)`; the verifier, the JSON importer's type check, the builder's
conversion, the text form, the support table and the accessor `op.strides` follow from that line. Values are
plain Python: int, tuple of int, float, tuple of float, bool, str.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OptPropertyDef,
    VerificationContext,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from dialects.support.diagnostics import suggest
from dialects.support.memo import MEMO_SIZE, Memo, by_identity

T = TypeVar("T")

PADDED_LENGTH = 12
"""oneDNN's DNNL_MAX_NDIMS: a dump writes an unset list as this many zeros (or ones)."""


@dataclass(frozen=True)
class AttributeSpec(AttrConstraint, Generic[T]):
    """The type of an attribute: oneDNN's type word `tag` (`s64[]`, `string`, ...), and `words`, its
    enumeration.

    `synonyms` maps further lower-case spellings to a documented word; `hints` maps wrong lower-case spellings
    to advice. `default` is the documented default, or None.
    """

    tag: str
    words: tuple[str, ...] = ()
    default: Any = None
    synonyms: tuple[tuple[str, str], ...] = ()
    hints: tuple[tuple[str, str], ...] = ()

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        try:
            self.decode(attr)
        except ValueError as error:
            raise VerifyException(str(error)) from None

    def with_default(self, default: T) -> AttributeSpec[T]:
        return replace(self, default=default)

    def mapping_type_vars(self, type_var_mapping: Any) -> AttributeSpec[T]:
        return self

    def encode(self, value: Any) -> Attribute:
        """Return the attribute for a Python value. Raises ValueError."""
        match self.tag:
            case "s64":
                return int_attribute(_int(value, self.tag))
            case "s64[]":
                return ints_attribute(tuple(_list(value, _int, self.tag)))
            case "f32":
                return FloatAttr(_float(value, self.tag), f64)
            case "f32[]":
                return DenseArrayBase.from_list(f64, _list(value, _float, self.tag))
            case "bool":
                return BoolAttr.from_bool(_bool(value, self.tag))
            case _:
                return string_attribute(self.word(value))

    def reencode(self, attr: Attribute) -> Attribute:
        """Return the canonical encoding of an attribute's value; an invalid one is left to the verifier."""
        return _NORMALISED.get((self, attr), lambda: self._normalise(attr))

    def _normalise(self, attr: Attribute) -> Attribute:
        try:
            encoded = self.encode(self.decode(attr))
        except ValueError:
            return attr
        return attr if attr == encoded else encoded

    @functools.cached_property
    def decode(self) -> Callable[[Attribute], Any]:
        """Function from an attribute, in any encoding, to its Python value; raises ValueError."""
        return by_identity(self._decode)

    def _decode(self, attr: Attribute) -> Any:
        match attr:
            case DenseArrayBase():
                value: tuple[Any, ...] = tuple(attr.get_values())  # pyright: ignore
            case ArrayAttr():
                value = tuple(_scalar(entry) for entry in attr)
            case _:
                value = _scalar(attr)
        return self.plain(value)

    def plain(self, value: Any) -> Any:
        """Return `decode(encode(value))`."""
        match self.tag:
            case "s64":
                return _int(value, self.tag)
            case "s64[]":
                return tuple(_list(value, _int, self.tag))
            case "f32":
                return _float(value, self.tag)
            case "f32[]":
                return tuple(_list(value, _float, self.tag))
            case "bool":
                return _bool(value, self.tag)
            case _:
                return self.word(value)

    def word(self, value: Any) -> str:
        """Return the documented spelling of a word, ignoring case."""
        if not isinstance(value, str):
            raise ValueError(f"given {value!r}, expected a string")
        known = {w.lower(): w for w in self.words} | dict(self.synonyms)
        if value.lower() not in known:
            hint = dict(self.hints).get(value.lower()) or suggest(value, self.words)
            raise ValueError(
                f'given "{value}", expected one of {", ".join(self.words)}' + (f"; {hint}" if hint else "")
            )
        return known[value.lower()]


_NORMALISED = Memo()


@functools.lru_cache(MEMO_SIZE)
def int_attribute(value: int) -> Attribute:
    """Return an int64 attribute. Equal values share one object, here and in the next two functions."""
    return IntegerAttr(value, i64)


@functools.lru_cache(MEMO_SIZE)
def ints_attribute(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, values)


@functools.lru_cache(MEMO_SIZE)
def string_attribute(value: str) -> Attribute:
    return StringAttr(value)


def word(
    *words: str,
    default: str | None = None,
    synonyms: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
) -> AttributeSpec[str]:
    """Return the spec of a case-insensitive enumeration."""
    pairs = [tuple((extra or {}).items()) for extra in (synonyms, hints)]
    return AttributeSpec("string", words, default, *pairs)


INT: AttributeSpec[int] = AttributeSpec("s64")
INTS: AttributeSpec[tuple[int, ...]] = AttributeSpec("s64[]")
FLOAT: AttributeSpec[float] = AttributeSpec("f32")
FLAG: AttributeSpec[bool] = AttributeSpec("bool")
FLOATS: AttributeSpec[tuple[float, ...]] = AttributeSpec("f32[]")


def required(spec: AttributeSpec[T]) -> T:
    """Declare a required attribute. On an op, the accessor returns its value."""
    return prop_def(spec)  # pyright: ignore[reportReturnType]


def defaulted(spec: AttributeSpec[T]) -> T:
    """Declare an optional attribute with a documented default."""
    assert spec.default is not None
    return opt_prop_def(spec)  # pyright: ignore[reportReturnType]


def optional(spec: AttributeSpec[T]) -> T | None:
    """Declare an optional attribute without a default (None)."""
    assert spec.default is None
    return opt_prop_def(spec)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class DocumentedAttribute:
    name: str
    spec: AttributeSpec[Any]
    required: bool


@functools.cache
def documented_attributes(cls: type[IRDLOperation]) -> Mapping[str, DocumentedAttribute]:
    """Return the documented attributes of a source op class, in the order of the class body."""
    found: dict[str, DocumentedAttribute] = {}
    for name, definition in cls.get_irdl_definition().properties.items():
        if isinstance(definition.constr, AttributeSpec):
            required = not isinstance(definition, OptPropertyDef)
            found[name] = DocumentedAttribute(name, cast(AttributeSpec[Any], definition.constr), required)
    return MappingProxyType(found)


def is_padding(values: Sequence[int], filler: int) -> bool:
    """Return whether a list is oneDNN's written-out unset default: twelve zeros, or twelve ones."""
    return len(values) == PADDED_LENGTH and all(value == filler for value in values)


def _scalar(attr: Attribute) -> Any:
    match attr:
        case IntegerAttr() if attr.type == i1:
            return bool(attr.value.data)
        case IntegerAttr() | FloatAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case _:
            raise ValueError(f"given {attr}, expected a plain number, string or list")


def whole_number(value: Any) -> int | None:
    """Return a Python or numpy integer as an int; None for booleans and anything else."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return index(value)
    except TypeError:
        return None


def _int(value: Any, tag: str, where: str = "") -> int:
    number = whole_number(value)
    if number is None:
        raise ValueError(f"given {value!r}{where}, expected type {tag}")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"given {value!r}{where}, expected type {tag} (64 bits)")
    return number


def _float(value: Any, tag: str, where: str = "") -> float:
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise ValueError(f"given {value!r}{where}, expected type {tag}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise ValueError(f"given {value!r}{where}, expected type {tag}") from None


def _bool(value: Any, tag: str) -> bool:
    if not isinstance(value, int | np.integer | np.bool_) or value not in (0, 1):
        raise ValueError(f"given {value!r}, expected type {tag} (0, 1, true or false)")
    return bool(value)  # pyright: ignore[reportUnknownArgumentType]


def entries(value: Any) -> list[Any] | None:
    """Return the entries of a list-like value; None for text and for 0-d arrays (which have `__iter__`)."""
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return None
    try:
        return list(value)
    except TypeError:
        return None


def _list(value: Any, scalar: Callable[[Any, str, str], T], tag: str) -> list[T]:
    given = entries(value)
    if given is None:
        raise ValueError(f"given {value!r}, expected type {tag}")
    return [scalar(entry, tag, f" at element {i}") for i, entry in enumerate(given)]


def unknown_dims(values: Sequence[Any]) -> list[Any]:
    """Replace None and names in a shape list by the dynamic-size marker of types and dumps."""
    return [DYNAMIC_INDEX if v is None or isinstance(v, str) else v for v in values]
