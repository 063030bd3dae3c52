"""`python -m tools.documents [--check] [PAGE..]`: write the generated parts of all or some pages."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gradc.files.writing import write_atomically
from tools.documents.pages import Content, pages
from tools.documents.speed import ROOT
from tools.generated import Part


def refresh(text: str, parts: Mapping[str, Content]) -> str:
    """Return the page with new parts. Raises ValueError if it lacks the markers of one."""
    for name, content in parts.items():
        text = Part(name).write(text, content())
    return text


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    check = "--check" in arguments
    wanted = [argument for argument in arguments if argument != "--check"]
    known = pages()
    if unknown := [name for name in wanted if name not in known]:
        print(f"no generated parts: {', '.join(unknown)}; pages that have some: {', '.join(known)}")
        return 2
    stale = []
    for name in wanted or known:
        path = root / name
        text = path.read_text(encoding="utf-8")
        fresh = refresh(text, known[name])
        if text != fresh:
            stale.append(name)
        if not check:
            write_atomically(path, fresh.encode())
    if check and stale:
        print(f"stale: {', '.join(stale)}; run python -m tools.documents")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
