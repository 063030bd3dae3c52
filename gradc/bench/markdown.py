"""The group means of benchmark files as a Markdown table, in a document between markers.

    python -m gradc.bench.markdown README.md one-thread.json two-threads.json

No number in a document is written by hand: what stands there is what `gradc bench --json` wrote.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradc.bench.floors import Group
from gradc.files import write_whole
from gradc.generated import between

BEGIN, END = "<!-- benchmark: begin -->", "<!-- benchmark: end -->"
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
    about = dict.fromkeys(_about(report) for report in reports)
    return "\n".join((HEADER, RULE, *lines, "", *about))


def _row(group: Group, threads: int, mean: dict[str, Any]) -> str:
    below = f"{mean['below']} (floor {mean['target']['floor']})"
    cells = (group, threads, mean["cases"], f"{mean['mean']:.2f}", f"{mean['worst']:.2f}", below)
    return f"| {' | '.join(map(str, cells))} |"


def _about(report: dict[str, Any]) -> str:
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    return f"{machine['cpu']}, {machine['cores']} cores; {versions}."


def refreshed(text: str, reports: Sequence[dict[str, Any]]) -> str:
    """The document with its table made anew. Raises ValueError if it lacks the markers."""
    return between(text, BEGIN, END, table(reports))


def main(arguments: Sequence[str]) -> None:
    path, *names = map(Path, arguments)
    reports = [json.loads(name.read_text(encoding="utf-8")) for name in names]
    text = refreshed(path.read_text(encoding="utf-8"), reports)
    write_whole(path, text.encode())


if __name__ == "__main__":
    main(sys.argv[1:])
