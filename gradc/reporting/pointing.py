"""Source lines of diagnostics."""

from __future__ import annotations

from dialects.support.diagnostics import Diagnostic
from gradc.builder.graph import Graph
from gradc.reporting.data import Remark
from gradc.reporting.request import Request
from gradc.terminal.notes import WIDTH
from gradc.terminal.quoting import quote

STDIN = "<stdin>"


def with_source_line(request: Request, diagnostic: Diagnostic) -> Remark:
    """Return the diagnostic with its source line.

    Only files that the request names, or code that built the graph, are quoted: a text may claim to come from
    any file, and reports are shared.
    """
    position = diagnostic.position
    ours = [STDIN if file == "-" else file for file in request.files]
    if position is None or not (position.file in ours or isinstance(request.source, Graph)):
        return Remark(diagnostic)
    return Remark(diagnostic, quote(diagnostic, WIDTH))
