"""Markdown table of the group means of benchmark files.

Numbers in documents are generated from the files of `gradc bench --json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.bench.floors import Group

HEADER = "| gradient | threads | cases | geometric mean | lowest | below the floor |"
RULE = "|---|--:|--:|--:|--:|--:|"


def table(reports: Sequence[dict[str, Any]]) -> str:
    """Return a row for each group and thread count, and a line about each run."""
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
    """Return machine, versions and, if recorded, the date."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    day = f"; {report['date']}" if "date" in report else ""
    return f"{machine['cpu']}, {machine['cores']} cores; {versions}{day}."
