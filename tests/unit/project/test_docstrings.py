"""Docstrings name what exists: exceptions in `Raises ...`, `module.name` and `package.module`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("dialects", "passes", "gradc", "tools")

DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
RAISED = re.compile(r"\bRaises (?:an? )?([A-Z]\w+)")
ATTRIBUTE = re.compile(r"`([a-z_]\w*)\.([A-Za-z_]\w*)`")

OTHER_NAMES = {*PACKAGES, "aten", "cann", "grad", "nn", "onednn", "onnx", "ops", "torch"}
"""First parts of the names of ops, of metadata, and of attributes of libraries."""

SUFFIXES = {"json", "md", "onnx", "py", "pyi", "svg", "txt"}


@cache
def sources() -> Mapping[Path, str]:
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {path: path.read_text(encoding="utf-8") for path in paths}


@cache
def words_by_module() -> Mapping[str, set[str]]:
    """The words of the code of each module, without its docstrings; modules of one name count as one."""
    found: dict[str, set[str]] = {}
    for path, text in sources().items():
        name = path.parent.name if path.stem == "__init__" else path.stem
        found.setdefault(name, set()).update(re.findall(r"\w+", DOCSTRING.sub("", text)))
    return found


@cache
def all_words() -> set[str]:
    return set(dir(builtins)).union(*words_by_module().values())


def docstrings() -> Iterator[tuple[str, str]]:
    """The docstrings of modules, classes, functions and variables, with their locations."""
    for path, text in sources().items():
        for found in DOCSTRING.finditer(text):
            yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}", found[1]


def missing(text: str) -> list[str]:
    """The names in a docstring that no code has."""
    modules = words_by_module()
    raised = [name for name in RAISED.findall(text) if name not in all_words()]
    pairs = [(a, b) for a, b in ATTRIBUTE.findall(text) if a not in OTHER_NAMES and b not in SUFFIXES]
    known = {(a, b) for a, b in pairs if a not in modules or b in modules or b in modules[a]}
    return raised + [f"{a}.{b}" for a, b in pairs if (a, b) not in known]


def test_every_name_exists():
    assert [(place, names) for place, text in docstrings() if (names := missing(text))] == []


def test_a_name_that_does_not_exist_is_found():
    text = "Raises NoSuchError; see `forms.NO_SUCH_LIMIT`, `forms.MAX_DEPTH` and `grad.no_such_op`."
    assert missing(text) == ["NoSuchError", "forms.NO_SUCH_LIMIT"]
