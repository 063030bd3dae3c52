"""A bar on stderr while problems are measured, for people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gradc.tuning.tuner import Progress, no_progress


@contextmanager
def bar() -> Iterator[Progress]:
    """Shows progress while the context lasts, and leaves nothing behind; silent in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", start=True, visible=False)

        def update(done: int, total: int, problem: str) -> None:
            shown.update(task, completed=done, total=total, description=problem, visible=total > 0)

        yield update
