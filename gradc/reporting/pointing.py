"""The lines of the source at which diagnostics point."""

from __future__ import annotations

from dialects.support.diagnostics import Diagnostic
from gradc.builder.graph import Graph
from gradc.reporting.data import Remark
from gradc.reporting.request import Request
from gradc.terminal.notes import WIDTH
from gradc.terminal.quoting import quote

STDIN = "<stdin>"


def pointed(request: Request, diagnostic: Diagnostic) -> Remark:
    """The diagnostic with its line.

    Only of a file that the request names, or of the code that built a graph: a text may claim to come
    from any file, and a report is for showing around.
    """
    position = diagnostic.position
    ours = [STDIN if file == "-" else file for file in request.files]
    if position is None or not (position.file in ours or isinstance(request.source, Graph)):
        return Remark(diagnostic)
    return Remark(diagnostic, quote(diagnostic, WIDTH))
