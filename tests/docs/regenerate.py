"""Writes anew what commands print on a page, for a reader to judge:

    python tests/docs/regenerate.py docs/tutorial.md ..

Of a console block each command's lines that are not what it prints, of a block of output all lines. Lines
with `...` that still fit are kept; put the `...` back where times or versions are. What fails otherwise is
said.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.pages import Mismatch, Page
from support.pages.markdown import with_source


def regenerated(path: Path, scratch: Path) -> str:
    page = Page(path.resolve(), scratch)
    edits = []
    for example in page.examples():
        try:
            example.evaluate()
        except Mismatch as mismatch:
            edits.append((example.region, mismatch.source))
        except Exception as error:
            print(f"{path}:{example.line}: {error}", file=sys.stderr)
    for line in page.left_out:
        print(f"{path}: left out: {line}", file=sys.stderr)
    text = page.document.text
    for region, source in reversed(edits):
        text = with_source(text, region, source)
    return text


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            new = regenerated(Path(argument), Path(scratch))
        Path(argument).write_text(new, encoding="utf-8")
