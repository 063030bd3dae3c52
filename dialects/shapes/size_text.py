"""Parser of size texts: `2*N + 1`, `(H + 1)//2`, `max(N, ?3)`, `"any other name"*2`."""

from __future__ import annotations

import re
from collections.abc import Callable

from dialects.shapes.forms import Form, TooComplex, fresh, name
from dialects.shapes.sizes import floordiv, largest, mod, smallest

MAX_TEXT = 4096
MAX_NESTING = 32

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,20})|(?P<fresh>\?\d{1,9})|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<sign>//|[-+*%(),]))',
    re.DOTALL,
)


class InvalidSize(ValueError):
    """A text that is not a valid size."""


def parse(text: str) -> Form:
    """Parse a size. Raises InvalidSize."""
    reader = _Reader(_tokens(text))
    try:
        form = reader.sum(0)
    except (TooComplex, ZeroDivisionError) as error:
        raise InvalidSize(f"not a size: {error}") from None
    reader.expect("end", "")
    return form


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > MAX_TEXT:
        raise InvalidSize(f"a size of {len(text)} characters, at most {MAX_TEXT} are read")
    found: list[tuple[str, str]] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise InvalidSize(f"not part of a size: {text[place:].strip()[:20]}")
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        place = match.end()
    return [*found, ("end", "")]


_EXTREMES: dict[str, Callable[..., Form]] = {"min": smallest, "max": largest}


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]):
        self._tokens = tokens[::-1]

    def expect(self, kind: str, text: str) -> None:
        if self._tokens[-1] != (kind, text):
            given = self._tokens[-1][1] or "the end"
            raise InvalidSize(f"{given} in a size, expected {text or 'the end'}")
        self._tokens.pop()

    def _takes(self, *signs: str) -> str | None:
        kind, text = self._tokens[-1]
        if kind != "sign" or text not in signs:
            return None
        self._tokens.pop()
        return text

    def sum(self, depth: int) -> Form:
        if depth > MAX_NESTING:
            raise InvalidSize(f"a size nested deeper than {MAX_NESTING}")
        total = self._product(depth)
        while sign := self._takes("+", "-"):
            term = self._product(depth)
            total = total + term if sign == "+" else total - term
        return total

    def _product(self, depth: int) -> Form:
        result = self._factor(depth)
        while sign := self._takes("*", "//", "%"):
            factor = self._factor(depth)
            result = result * factor if sign == "*" else (floordiv if sign == "//" else mod)(result, factor)
        return result

    def _factor(self, depth: int) -> Form:
        negative = False
        while self._takes("-"):
            negative = not negative
        form = self._operand(depth)
        return -form if negative else form

    def _operand(self, depth: int) -> Form:
        if self._takes("("):
            form = self.sum(depth + 1)
            self.expect("sign", ")")
            return form
        kind, text = self._tokens[-1]
        if kind not in ("number", "fresh", "word", "quoted"):
            raise InvalidSize(f"{text or 'the end'} in a size, expected a number or a name")
        self._tokens.pop()
        if kind == "word" and text in _EXTREMES:
            return self._extreme(_EXTREMES[text], depth)
        if kind == "number":
            return int(text)
        if kind == "fresh":
            return fresh(int(text[1:]))
        return name(text if kind == "word" else re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL))

    def _extreme(self, function: Callable[..., Form], depth: int) -> Form:
        self.expect("sign", "(")
        forms = [self.sum(depth + 1)]
        while self._takes(","):
            forms.append(self.sum(depth + 1))
        self.expect("sign", ")")
        return function(*forms)
