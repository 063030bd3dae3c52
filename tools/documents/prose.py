"""Docstrings of ops and strategies as Markdown: formula, ports, numbered constraints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_CONSTRAINT = re.compile(r"(?:^|; )(C\d+) ")
_AFTER_FORMULA = re.compile(r", (?=with |where )|; |(?<=])\. (?=[A-Z])|\. (?=The )")


@dataclass(frozen=True)
class OpText:
    """The parsed docstring of an op: summary, formula, other text, and constraints by name."""

    summary: str
    formula: str
    remainder: str
    paragraphs: tuple[str, ...]
    constraints: dict[str, str]


def paragraphs(documented: object) -> list[str]:
    """Return the paragraphs of a docstring, one per line; entries of numbered lists have own lines."""
    return [_join_lines(part) for part in (inspect.getdoc(documented) or "").split("\n\n")]


def _join_lines(paragraph: str) -> str:
    joined = " ".join(paragraph.split())
    entries = re.split(r" (?=\d\. [A-Z`])", joined)
    if len(entries) == 1:
        return joined
    return (
        "\n".join(entries)
        if entries[0].startswith("1. ")
        else "\n\n".join((entries[0], "\n".join(entries[1:])))
    )


def op_text(documented: object) -> OpText:
    summary, *others = paragraphs(documented)
    constraints: dict[str, str] = {}
    for part in [part for part in others if part.startswith("C1 ")]:
        others.remove(part)
        constraints |= _constraints(part)
    formula, remainder = "", ""
    if others and " = " in others[0]:
        formula, remainder = _split(others.pop(0))
        formula = formula.replace("`", "")
    return OpText(summary, formula, remainder, tuple(others), constraints)


def _constraints(text: str) -> dict[str, str]:
    """Parse `C1 one; C2 other.` by name."""
    _, *parts = _CONSTRAINT.split(text)
    return dict(zip(parts[0::2], (part.rstrip(". ") for part in parts[1::2]), strict=True))


def _split(text: str) -> tuple[str, str]:
    """Split a paragraph into the formula and the text after it."""
    found = _AFTER_FORMULA.search(text)
    if found is None:
        return text.rstrip("."), ""
    rest = text[found.end() :]
    return text[: found.start()], capitalize_first(rest)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def capitalize_first(text: str) -> str:
    """Capitalize a text that begins with a word, not with a name or number."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,']", text) else text


def escape_markdown(text: str) -> str:
    """Escape Markdown emphasis, HTML and links outside of backticks."""
    parts = text.split("`")
    parts[0::2] = [re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts[0::2]]
    return "`".join(parts)
