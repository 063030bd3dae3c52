"""Command lines that pages name in passing: the commands and their options exist."""

from __future__ import annotations

import re

import click
import pytest
from support.cli import run_gradc, run_opt

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT, pages

import gradc.cli.main

INLINE = re.compile(r"`(gradc(?:-opt)?(?: [^`]*)?)`")
COMMENTED = re.compile(r"^(gradc \w+) [^#\n]*# (.*)$", re.MULTILINE)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def options_of(words: list[str]) -> set[str]:
    """Of the command that the words begin with; KeyError where there is none."""
    program, *rest = words
    if program == "gradc-opt":
        return set(re.findall(r"--?[a-z-]+", run_opt("--help").out))
    command: click.Command = gradc.cli.main.cli
    context = click.Context(command)
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z]+", rest[0]):
        found = command.get_command(context, rest.pop(0))
        if found is None:
            raise KeyError(words)
        command = found
    return {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}


def unknown(text: str) -> list[str]:
    """What is named of the two commands and is not there."""
    named = [(line, line) for line in INLINE.findall(text)] + COMMENTED.findall(text)
    found = []
    for line, rest in named:
        try:
            known = options_of(line.split()) | {"--help", "--version"}
        except KeyError:
            found.append(line)
            continue
        found += [
            f"{line}: {option}" for option in re.findall(r"(?<!\S)--[a-z-]+", rest) if option not in known
        ]
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_named_commands_exist(page):
    assert unknown(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "`gradc compil x`",
        "`gradc compile x --no-such`",
        "`gradc-opt --nothing`",
        "gradc run x  # --ep, --never\n",
    ],
)
def test_unknown_ones_are_found(text):
    assert unknown(text)


def test_every_command_is_in_the_readme_or_the_reference():
    reported = README + "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    listed = re.findall(r"^  (\w+)  ", run_gradc("--help").out, re.MULTILINE)
    assert listed
    assert [name for name in listed if f"gradc {name}" not in reported] == []


def test_the_exit_codes_are_documented():
    page = (ROOT / "docs/terminal.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \| ", page, re.MULTILINE) == ["0", "1", "2", "3", "4", "70"]
