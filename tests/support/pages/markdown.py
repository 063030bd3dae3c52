"""The fenced blocks of a page with the comments in front of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sybil import Document, Example, Region
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

WORDS = ("file", "output", "printed", "insert", "setup", "needs", "command")

_COMMENT = re.compile(r"^[ ]*<!-- (\w+):[ ]*(.*?)[ ]*-->$")


@dataclass(frozen=True)
class Block:
    language: str
    source: str
    comments: dict[str, str]

    @property
    def lines(self) -> list[str]:
        return self.source.splitlines()


def parsed(path: Path, evaluate: Callable[[Example], None]) -> Document:
    """The page, each of its blocks an example whose `parsed` is a Block."""

    def regions(document: Document) -> Iterable[Region]:
        for region in FencedCodeBlockLexer(r"[^\n]*")(document):
            language = region.lexemes["language"].strip()
            comments = dict(_comments_before(document.text[: region.start]))
            region.parsed = Block(language, _source(document.text[region.start : region.end]), comments)
            region.evaluator = evaluate
            yield region

    return Document.parse(str(path), regions)


def _source(fenced: str) -> str:
    """The lines between the fences, as far in as they are further in than these; sybil's own has no depth."""
    _, *lines, closing = fenced.split("\n")
    depth = len(closing) - len(closing.lstrip())
    return "".join(f"{line[depth:]}\n" for line in lines)


def blocks_of(path: Path) -> list[Block]:
    return [example.parsed for example in parsed(path, lambda _: None)]


def _comments_before(text: str) -> Iterator[tuple[str, str]]:
    """The comments with our words that end the text, blank lines aside."""
    for line in reversed(text.splitlines()):
        found = _COMMENT.match(line)
        if found and found[1] in WORDS:
            yield found[1], found[2]
        elif line.strip():
            return


def with_source(text: str, region: Region, source: str) -> str:
    """The text of the page with other lines between the fences of a block, as far in as the block is."""
    opening, *_, closing = text[region.start : region.end].split("\n")
    indent = " " * (len(closing) - len(closing.lstrip()))
    body = [indent + line if line else "" for line in source.splitlines()]
    return text[: region.start] + "\n".join([opening, *body, closing]) + text[region.end :]
