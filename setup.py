"""The one thing that pyproject.toml cannot say: the README as a package index shows it.

An index shows the text alone. Pictures and links into the repository need whole addresses, which follow
from the URL of the repository, [project.urls] Source, once there is one. Until then a picture is its
words, and a link the name that it has.
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
    """The README for an index; `source` is where the repository is, None if nowhere yet."""

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
