"""The lines of the source at which diagnostics point."""

from __future__ import annotations

import linecache

from dialects.support.diagnostics import Diagnostic
from gradc.builder import Graph
from gradc.reporting.data import Remark
from gradc.reporting.request import Request


def pointed(request: Request, diagnostic: Diagnostic) -> Remark:
    """The diagnostic with its line.

    Only of a file that the request names, or of the code that built a graph: a text may claim to come
    from any file, and a report is for showing around.
    """
    position = diagnostic.position
    if position is None or not (position.file == request.path or isinstance(request.source, Graph)):
        return Remark(diagnostic)
    return Remark(diagnostic, linecache.getline(position.file, position.line).rstrip())
