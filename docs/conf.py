"""Sphinx: `make docs` writes build/docs/index.html."""

import inspect
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

import numpy.typing
import onnx

import gradc
from gradc.builder import base as builder
from gradc.builder import spec_methods
from gradc.compiler import compiled as compiler
from gradc.runtime import session as runtime

sys.path.insert(0, str(Path(__file__).parent))

from mlir_lexer import MlirLexer

project = "gradc"
author = "the authors of gradc"
release = version = installed("gradc")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
html_theme = "furo"
html_title = "gradc"
html_static_path = ["_static"]
html_css_files = ["plots.css"]
html_show_sourcelink = False
html_show_copyright = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

# The prompt of a console block is not copied, nor what the command prints.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

nitpicky = True
# A block may be a part of a file, and no program by itself: the tests run what has to run.
suppress_warnings = ["misc.highlighting_failure"]
nitpick_ignore_regex = [("py:.*", r"(numpy|np|npt|onnx|xdsl|os|collections|pathlib|ml_dtypes|passes)\..*")]
"""Types of other projects, whose references are elsewhere, as a build needs no network, and those that a
user's rule works with: docs/gradient_recipes.md shows them, and their docstrings say more."""

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "literal"
"""Docstrings are plain text, with names in single backticks."""

# What is imported for type checkers only.
vars(compiler).update(Ep=runtime.Ep, Session=runtime.Session, ModelProto=onnx.ModelProto)
vars(builder).update(npt=numpy.typing)
vars(spec_methods).update(npt=numpy.typing)

for name in gradc.__all__:
    if isinstance(getattr(gradc, name), type):
        getattr(gradc, name).__module__ = "gradc"  # where the reader finds it

# A Markdown file of the repository that is no page of the site: offered as it is.
OUTSIDE = re.compile(r"\]\(((?:\.\./)+(?:README|SECURITY|examples/[\w/]+|tests/[\w/]+)\.md)")


def offer_as_it_is(_app, _page: str, source: list[str]) -> None:
    source[0] = OUTSIDE.sub(r"](path:\1", source[0])


PARAMETER = re.compile(r"(\w+): ")


def list_parameters(_app, what: str, _name: str, object_, _options, lines: list[str]) -> None:
    """`name: what it is` in the docstring of a function is an entry of its list of parameters."""
    if what not in ("function", "method"):
        return
    known = inspect.signature(object_).parameters
    inside = False
    for number, line in enumerate(lines):
        found = PARAMETER.match(line)
        begins = found is not None and found[1] in known
        inside = bool(line) and (inside or begins)
        if begins:
            lines[number] = f":param {line}"
        elif inside:
            lines[number] = f"    {line}"


def setup(app) -> None:
    app.connect("source-read", offer_as_it_is)
    app.connect("autodoc-process-docstring", list_parameters)
    app.add_lexer("mlir", MlirLexer)
