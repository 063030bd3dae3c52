"""The group means of benchmark files as a Markdown table.

No number in a document is written by hand: what stands there is what `gradc bench --json` wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.bench.floors import Group

HEADER = "| gradient | threads | cases | geometric mean | lowest | below the floor |"
RULE = "|---|--:|--:|--:|--:|--:|"


def table(reports: Sequence[dict[str, Any]]) -> str:
    """A row for each group and thread count, and a line on what was run where."""
    rows = [
        (Group(**mean["group"]), report["settings"]["threads"], mean)
        for report in reports
        for mean in report["groups"]
    ]
    lines = [_row(group, threads, mean) for group, threads, mean in sorted(rows, key=lambda row: row[:2])]
    about = dict.fromkeys(about_run(report) for report in reports)
    return "\n".join((HEADER, RULE, *lines, "", *about))


def _row(group: Group, threads: int, mean: dict[str, Any]) -> str:
    below = f"{mean['below']} (floor {mean['target']['floor']})"
    cells = (group, threads, mean["cases"], f"{mean['mean']:.2f}", f"{mean['worst']:.2f}", below)
    return f"| {' | '.join(map(str, cells))} |"


def about_run(report: dict[str, Any]) -> str:
    """Machine, versions and, where the file has it, the day."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    day = f"; {report['date']}" if "date" in report else ""
    return f"{machine['cpu']}, {machine['cores']} cores; {versions}{day}."
