"""Sphinx: `make docs` writes build/docs/index.html."""

import re
from importlib.metadata import version as installed

project = "gradc"
author = "the authors of gradc"
release = version = installed("gradc")
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_title = "gradc"
html_show_sourcelink = False
html_show_copyright = False
exclude_patterns = ["conf.py"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

# The prompt of a console block is not copied, nor what the command prints.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

nitpicky = True

# A Markdown file of the repository that is no page of the site: offered as it is.
OUTSIDE = re.compile(r"\]\(((?:\.\./)+(?:README|SECURITY|examples/[\w/]+|tests/[\w/]+)\.md)")


def offer_as_it_is(_app, _page: str, source: list[str]) -> None:
    source[0] = OUTSIDE.sub(r"](path:\1", source[0])


def setup(app) -> None:
    app.connect("source-read", offer_as_it_is)
