"""The references of docs/reference are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gradc

API = (Path(__file__).resolve().parents[2] / "docs/reference/api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", gradc.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert re.search(rf"^\.\. (?:auto\w+|data):: {re.escape(name)}(?:\(\))?$", API, re.MULTILINE)


def test_nothing_else_of_gradc_is():
    """But for the types that public methods take and give, by their full names."""
    named = re.findall(r"^\.\. (?:auto\w+|data):: (\w+)(?:\(\))?$", API, re.MULTILINE)
    assert set(named) == set(gradc.__all__)
