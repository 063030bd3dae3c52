"""The references of docs/reference are whole, and read without being built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gradc

API = (Path(__file__).resolve().parents[2] / "docs/reference/api.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^(?:### |\| `)gradc\.(\w+)(?:$|` )", API, re.MULTILINE)


@pytest.mark.parametrize("name", gradc.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert name in NAMED


def test_nothing_else_of_gradc_is():
    """But for the types that public methods take and give, by their full names."""
    assert set(NAMED) == set(gradc.__all__)


def test_it_reads_in_a_plain_checkout():
    assert "{eval-rst}" not in API
    assert "auto" not in re.findall(r"^\.\. (\w+)", API, re.MULTILINE)
    assert "* `wrt`: " in API
    assert "| `save(path, external_data=)` |" in API
