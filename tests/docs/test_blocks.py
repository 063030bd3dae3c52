"""Every code block of the README, of docs/ and of the examples' READMEs does what it says.

It takes minutes, so it is run by itself: `pytest -m heavy tests/docs`. GRADC_REQUIRE_DOCS=1 lets no block be
left out for want of what it needs.
"""

from __future__ import annotations

import os

import pytest

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT, Page, pages


@pytest.mark.heavy
@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_blocks(path, tmp_path):
    page = Page(path, tmp_path)
    for example in page.examples():
        try:
            example.evaluate()
        except Exception as error:
            error.add_note(f"{path.relative_to(ROOT)}:{example.line}")
            raise
    if page.left_out and os.environ.get("GRADC_REQUIRE_DOCS"):
        pytest.fail("; ".join(page.left_out))
    if page.left_out:
        pytest.skip("; ".join(page.left_out))
