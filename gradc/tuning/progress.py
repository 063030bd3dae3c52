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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}", table_column=rest))
    console = Console(stderr=True)
    # redrawn by a thread of its own, it would take time from what is measured
    with Progress(*columns, console=console, transient=True, auto_refresh=False, expand=True) as shown:
        task = shown.add_task("", visible=False)

        def update(done: int, total: int, problem: str) -> None:
            shown.update(task, completed=done, total=total, description=problem, visible=total > 0)
            shown.refresh()

        yield update
