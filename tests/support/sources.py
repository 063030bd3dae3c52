"""The Python sources of the project, read and parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ONE_WORKER = pytest.mark.xdist_group("sources")
"""The mark of tests that share the parsed sources: one worker runs them."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
