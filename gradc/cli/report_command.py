"""Implementation of `gradc report`."""

from __future__ import annotations

from gradc.reporting import page
from gradc.reporting.collect import collect
from gradc.reporting.data import as_json
from gradc.reporting.report import Report
from gradc.reporting.request import Request
from gradc.terminal import progress
from gradc.terminal.outputs import write_output
from gradc.terminal.streams import write_stdout


def report(request: Request, output: str | None, wants_json: bool) -> Report:
    """Collect the report, write the page to `output` (`-`: stdout), and on request the data to stdout.

    Requirements of the page are checked first, as collecting may take long.
    """
    if output is not None:
        page.check_available()
    with progress.bar(patience=0 if request.tuning.tune else progress.PATIENCE) as show:
        found = collect(request, show)
    if output is not None:
        write_output(output, found.html().encode(), "HTML")
    if wants_json:
        write_stdout(f"{as_json(found)}\n".encode())
    return found
