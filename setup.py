"""README for a package index, which pyproject.toml cannot generate.

An index shows the text alone, so pictures and links into the repository need absolute addresses, which follow
from [project.urls] Source. Without it a picture is its text, and a link its name.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")
MARKER = re.compile(r"^<!-- [^\n]* -->\n", re.MULTILINE)


def index_page(readme: str, source: str | None) -> str:
    """Return the README for an index; `source` is the repository's address, None without one."""

    def whole(found: re.Match[str]) -> str:
        picture, text, path = found["picture"], found["text"], found["path"]
        if source is not None:
            return f"{picture}[{text}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/HEAD/{path})"
        return f"*(A picture in the repository: {text}.)*" if picture else text

    return LINK.sub(whole, MARKER.sub("", readme))


def long_description() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return index_page(readme, project.get("urls", {}).get("Source"))


if __name__ == "__main__":
    setup(long_description=long_description(), long_description_content_type="text/markdown")
