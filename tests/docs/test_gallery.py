"""What the pages of the gallery tell of lowerings is what their commands print."""

from __future__ import annotations

import re
from functools import cache

import onnx
import pytest

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT

from gradc.inspection.explain import WHY
from passes import STRATEGY_NAMES

HEADING = "## The chosen strategies\n"
CHOSEN = re.compile(rf"^  ([\w-]+) \((?:{'|'.join(map(re.escape, WHY.values()))})\): ", re.MULTILINE)
PAGES = sorted(p for p in (ROOT / "docs/gallery").glob("*.md") if HEADING in p.read_text(encoding="utf-8"))


@cache
def operators() -> set[str]:
    return {schema.name for schema in onnx.defs.get_all_schemas()}


def parts(text: str) -> tuple[str, str, str]:
    """The whole page's blocks, the block of `gradc explain`, and the prose below that."""
    section = text.partition(HEADING)[2]
    _, block, prose = section.split("```", 2)
    return "".join(text.split("```")[1::2]), block, prose.partition("\n## ")[0]


def wrong(text: str) -> list[str]:
    """What a page leaves open or says without having shown it."""
    blocks, block, prose = parts(text)
    problems = re.findall(r"^(?:conv|resize)\w+,.*$", block, re.MULTILINE)
    chosen = CHOSEN.findall(block)
    found = [] if len(chosen) == len(problems) else [f"{len(problems)} gradients, {len(chosen)} choices"]
    named = set(re.findall(r"`([\w-]+)`", prose))
    found += [f"{name} is not shown" for name in named & operators() if not re.search(rf"\b{name}\b", blocks)]
    found += [f"{name} was not chosen" for name in named & set(STRATEGY_NAMES) - set(chosen)]
    return found


def test_there_are_pages():
    assert len(PAGES) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_prose_is_of_what_is_printed(page):
    assert wrong(page.read_text(encoding="utf-8")) == []


def test_what_is_not_printed_is_found():
    text = (ROOT / "docs/gallery/super_resolution.md").read_text(encoding="utf-8")
    assert wrong(text + "A `Reshape` with a `ReduceSum` does it.\n") == ["ReduceSum is not shown"]
    assert wrong(text + "It is `resize-to-pool`.\n") == ["resize-to-pool was not chosen"]
    assert wrong(text.replace("  resize-to-conv (", "  ... (")) != []
