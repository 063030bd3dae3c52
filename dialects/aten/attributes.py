"""Arguments of ATen ops that are no tensors, as attributes and as Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from dialects.aten.ratios import Ratio, parse_ratio
from dialects.shapes.forms import Size, form_text
from dialects.shapes.size_text import parse

_SIZE = "="
"""Prefix of a size."""

_RATIO = "=="
"""Prefix of a ratio of sizes."""

_COMPLEX = "=~"
"""Prefix of a complex number."""


def to_attribute(value: Any) -> Attribute:
    """Return the attribute of an argument. Raises TypeError for what is no argument."""
    if isinstance(value, list | tuple):
        return ArrayAttr([_to_attribute(each) for each in cast(Sequence[Any], value)])
    return _to_attribute(value)


def _to_attribute(value: Any) -> Attribute:
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, Size):
        return StringAttr(_SIZE + form_text(value))
    if isinstance(value, Ratio):
        return StringAttr(_RATIO + str(value))
    if isinstance(value, complex):
        return StringAttr(f"{_COMPLEX}{value}")
    if isinstance(value, str):
        return StringAttr(value)
    raise TypeError(f"an argument of type {type(value).__name__}")


def from_attribute(attribute: Attribute) -> Any:
    """Return the argument of an attribute."""
    if isinstance(attribute, ArrayAttr):
        return [_from_attribute(each) for each in attribute]
    return _from_attribute(attribute)


def _from_attribute(attribute: Attribute) -> Any:
    if isinstance(attribute, IntegerAttr):
        value = int(attribute.value.data)
        return bool(value) if attribute.type == i1 else value
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    assert isinstance(attribute, StringAttr), attribute
    text = attribute.data
    if text.startswith(_RATIO):
        return parse_ratio(text.removeprefix(_RATIO))
    if text.startswith(_COMPLEX):
        return complex(text.removeprefix(_COMPLEX))
    return parse(text.removeprefix(_SIZE)) if text.startswith(_SIZE) else text
