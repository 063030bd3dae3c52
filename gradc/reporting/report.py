"""A report with its page."""

from __future__ import annotations

from dataclasses import dataclass

from gradc.files.writing import StrPath, write_atomically
from gradc.reporting.data import Contents
from gradc.util import arguments


@dataclass(frozen=True, eq=False, repr=False)
class Report(Contents):
    """Report on the compilation of a graph; missing parts have a reason.

    `failure` is the error of a graph that does not compile. `source` and `result` are the modules before and
    after the pipeline, `compiled` the model to save and run.
    """

    def save(self, path: StrPath) -> None:
        """Write the page atomically. Raises UnsupportedError without the `report` extra."""
        write_atomically(arguments.path("path", path), self.html().encode())

    def html(self) -> str:
        """Return the page, one self-contained HTML file."""
        from gradc.reporting.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from gradc.drawing.frames import in_frame

        return in_frame(self.html, f"report of {self.title}")
