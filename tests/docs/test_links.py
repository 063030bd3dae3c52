"""Links and paths on every page lead somewhere, also on a code host, where no Sphinx checks them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT, pages

FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->")
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
PLACED = re.compile(r"(.*)\n+<!-- (?:file|insert): (\S+)")
SOURCE = re.compile(r"`((?:dialects|passes|gradc|tests|examples|docs|benchmarks)/[\w./]+)`")


def text_of(page: Path) -> str:
    return COMMENT.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """As code hosts make them of headings."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def broken(page: Path) -> list[str]:
    found = []
    for link in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        inside = target.is_relative_to(ROOT) and target.exists()
        if not inside or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_link_leads_somewhere(page):
    assert not broken(page)


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_path_of_the_tree_exists(page):
    if "extending" in page.parts:
        return  # its paths are those that a reader adds
    assert [path for path in SOURCE.findall(text_of(page)) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "extending").glob("*.md")), ids=named)
def test_a_block_that_goes_into_a_file_says_which(page):
    """The comment in front of it is not shown."""
    placed = PLACED.findall(page.read_text(encoding="utf-8"))
    assert placed
    assert [path for line, path in placed if f"`{path}`" not in line] == []


def test_broken_ones_are_found(tmp_path, monkeypatch):
    page = tmp_path / "a.md"
    page.write_text(
        "# A b: c\n[x](b.md) [y](a.md#a-b-c) [z](#d) [w](https://x)\n```text\n[q](no)\n```\n",
        encoding="utf-8",
    )
    monkeypatch.setitem(broken.__globals__, "ROOT", tmp_path)
    assert broken(page) == ["b.md", "#d"]
