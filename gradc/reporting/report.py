"""A report that can be shown."""

from __future__ import annotations

from dataclasses import dataclass

from gradc.base import arguments
from gradc.files.writing import StrPath, write_whole
from gradc.reporting.data import Contents


@dataclass(frozen=True, eq=False, repr=False)
class Report(Contents):
    """What gradc did with a graph; each part that could not be had says why.

    `failure` is why the graph does not compile. `source` and `result` are the modules before and after
    the pipeline, `compiled` what can be saved and run.
    """

    def save(self, path: StrPath) -> None:
        """Write the page, whole or not at all. UnsupportedError without the `report` extra."""
        write_whole(arguments.path("path", path), self.html().encode())

    def html(self) -> str:
        """The page: one file that needs no other."""
        from gradc.reporting.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from gradc.drawing.frames import framed

        return framed(self.html, f"report of {self.title}")
