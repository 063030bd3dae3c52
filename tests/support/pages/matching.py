"""Shown lines against printed ones; `...` stands for what differs from run to run."""

from __future__ import annotations

import re

ELISION = "..."


class Mismatch(AssertionError):
    """What is shown is not what is printed; `source` is what the block would be."""

    def __init__(self, message: str, source: str):
        super().__init__(message)
        self.source = source


def _line(shown: str) -> str:
    return ".*?".join(re.escape(part) for part in shown.rstrip().split(ELISION))


def _lines(shown: list[str], indent: str = "") -> str:
    """A regular expression for the lines, each with its end."""
    found = []
    for line in shown:
        if line.strip() == ELISION:
            found.append(r"(?:.*\n)*?")
        elif line.strip():
            found.append(f"{indent}{_line(line)}[ ]*\n")
        else:
            found.append("[ ]*\n")
    return "".join(found)


def equals(shown: list[str], printed: str) -> bool:
    return re.fullmatch(_lines(shown), _ended(printed)) is not None


def contains(shown: list[str], text: str) -> bool:
    """Whether the lines are in the text, one after another, all as much further in."""
    first, *rest = shown
    pattern = f"^(?P<indent>[ ]*){_lines([first])}{_lines(rest, '(?P=indent)')}"
    return re.search(pattern, _ended(text), re.MULTILINE) is not None


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
