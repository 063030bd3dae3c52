"""Notebook frames for reports and pictures, which isolate their styles."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.resources import files

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import GradcError

STYLES = ("tokens.css", "viewer.css")


def in_frame(page: Callable[[], str], title: str) -> str:
    """Return a page in a frame, or the installation hint if its requirements are missing."""
    try:
        return _frame(page(), title, "46rem")
    except GradcError as error:
        return f"<p>{escape(str(error))}</p>"


def picture_frame(module: ModuleOp, name: str) -> str:
    """Return the picture of a module's graph; '' if it cannot be drawn."""
    from gradc.drawing.picture import picture

    try:
        svg = picture(module, name)
    except GradcError:
        return ""
    style = "".join(files("gradc.drawing").joinpath(file).read_text("utf-8") for file in STYLES)
    page = f'<!doctype html><meta charset="utf-8"><style>{style}</style><div class="drawn">{svg}</div>'
    return _frame(page, "the graph", "26rem")


def _frame(page: str, title: str, height: str) -> str:
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(title)}" sandbox="allow-scripts" '
        f'style="width:100%;height:{height};border:0"></iframe>'
    )
