"""Parser of problem strings, whose errors point at the invalid field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dialects.support.diagnostics import Diagnostic, GradcError, Position, sentence, suggest
from dialects.support.shapes import Dim, Shape

MAX_NUMBER = 2**40
"""Upper limit of any size, step or count."""


def show_ints(values: Iterable[int]) -> str:
    return "x".join(map(str, values))


def show_shape(shape: Iterable[Dim]) -> str:
    return "x".join(str(dim) if isinstance(dim, int) else "?" for dim in shape)


class Fields:
    """`kind,dtype,layout,name=value,...`: three words, then named fields in any order.

    `place` is the position of the text in a file, None outside of files.
    """

    def __init__(self, text: str, place: Position | None = None):
        self._text = text.strip()
        self._place = place
        self._words: list[tuple[str, int]] = []
        self._given: dict[str, tuple[str, int]] = {}
        column = 0
        for part in self._text.split(","):
            self._add(part.strip(), column)
            column += len(part) + 1

    def _add(self, part: str, column: int) -> None:
        name, equals, value = part.partition("=")
        if equals:
            if name.strip() in self._given:
                raise self.error(f"field {name.strip()} is given twice", column=column)
            self._given[name.strip()] = (value.strip(), column)
        elif self._given:
            raise self.error("field", part or "nothing", "name=value", column=column)
        else:
            self._words.append((part, column))

    def error(
        self,
        what: str,
        given: object = None,
        expected: object = None,
        hint: str = "",
        *,
        field: str = "",
        column: int | None = None,
    ) -> GradcError:
        """Return an error at a field, or at a column of the text, else at its start."""
        if field in self._given:
            column = self._given[field][1]
        place = self._place
        if place is not None and column is not None:
            place = replace(place, column=place.column + column)
        text = sentence(what, given, expected, hint)
        return GradcError(
            Diagnostic("error", text, f'problem "{self._text}"' if place is None else "", place)
        )

    def word(self, index: int, what: str, words: Sequence[str]) -> str:
        """Return the word at `index`, one of `words`."""
        if index >= len(self._words):
            expected = f"kind,dtype,layout,name=value,... with {what} one of {', '.join(words)}"
            raise self.error(f"{what} is missing", expected=expected)
        word, column = self._words[index]
        if word not in words:
            raise self.error(
                what, word or "nothing", f"one of {', '.join(words)}", suggest(word, words), column=column
            )
        return word

    def check_names(self, words: int, names: Sequence[str]) -> None:
        """Raise unless there are `words` words and only known names."""
        for word, column in self._words[words:]:
            raise self.error("field", word or "nothing", "name=value", column=column)
        for name in self._given:
            if name not in names:
                expected = f"one of {', '.join(names)}"
                raise self.error(f"unknown field {name}", None, expected, suggest(name, names), field=name)

    def shape(self, name: str) -> Shape:
        return tuple(None if d == "?" else self._integer(name, d) for d in self._list(name, "2x64x?x56"))

    def ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        if name not in self._given and default is not None:
            return default
        return tuple(self._integer(name, part) for part in self._list(name, "1x2"))

    def integer(self, name: str, default: int) -> int:
        return self._integer(name, self._given[name][0]) if name in self._given else default

    def pair(self, name: str, default: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Parse two lists, `begin:end`."""
        if name not in self._given:
            return default, default
        value = self._given[name][0]
        begin, colon, end = value.partition(":")
        if not colon:
            raise self.error(name, value, "begin:end, such as 1x1:1x1", field=name)
        first, second = (tuple(self._integer(name, p) for p in _parts(side)) for side in (begin, end))
        return first, second

    def choice(self, name: str, words: Sequence[str]) -> str:
        """Parse one of `words`; the first is the default."""
        if name not in self._given:
            return words[0]
        word = self._given[name][0]
        if word not in words:
            raise self.error(name, word, f"one of {', '.join(words)}", suggest(word, words), field=name)
        return word

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Parse ascending axes of a tensor of rank `rank`; by default all spatial ones."""
        axes = self.ints(name, tuple(range(2, rank)))
        if list(axes) != sorted(set(axes)) or any(axis >= rank for axis in axes):
            raise self.error(name, show_ints(axes), f"ascending axes below {rank}", field=name)
        return axes

    def fractions(self, name: str, default: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        if name not in self._given:
            return default
        parts = self._list(name, "1/2x1/2")
        for part in parts:
            if not re.fullmatch(r"[0-9]{1,14}(/0*[1-9][0-9]{0,13})?", part):
                raise self.error(name, part, "a fraction such as 1/2", field=name)
        if len(parts) != len(default):
            raise self.error(name, len(parts), f"{len(default)} values", field=name)
        return tuple(Fraction(part) for part in parts)

    def _list(self, name: str, example: str) -> list[str]:
        if name not in self._given:
            raise self.error(f"field {name} is missing", expected=f"{name}={example}")
        return _parts(self._given[name][0])

    def _integer(self, name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,14}", text) or int(text) > MAX_NUMBER:
            raise self.error(name, text or "nothing", "a number", field=name)
        return int(text)


def _parts(text: str) -> list[str]:
    return text.split("x") if text else []


def unless(values: Sequence[int], default: Sequence[int], name: str) -> dict[str, str]:
    return {} if tuple(values) == tuple(default) else {name: show_ints(values)}
