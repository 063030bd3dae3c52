"""Floats that depend on named dims, such as the `1 / len(x)` of a mean."""

from __future__ import annotations

from dataclasses import dataclass

from dialects.shapes.forms import Form, form_text
from dialects.shapes.size_text import parse

_DIVISION = " / "


@dataclass(frozen=True)
class Ratio:
    """A quotient of two sizes or numbers; at least one of them depends on a dim."""

    dividend: Form | float
    divisor: Form | float

    def __str__(self) -> str:
        return f"{_text(self.dividend)}{_DIVISION}{_text(self.divisor)}"


def _text(value: Form | float) -> str:
    return repr(value) if isinstance(value, float) else form_text(value)


def _value(text: str) -> Form | float:
    try:
        return parse(text)
    except ValueError:
        return float(text)


def parse_ratio(text: str) -> Ratio | None:
    """Parse the text of a ratio; None if it is none."""
    dividend, division, divisor = text.partition(_DIVISION)
    return Ratio(_value(dividend), _value(divisor)) if division else None
